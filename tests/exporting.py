"""What architectures.py and larger.py share: modules by name, exported as cases that conformance.py takes."""
import argparse, fnmatch, importlib.util, os, sys

import torch


def tokens(*shape, n=64):
    return lambda: torch.randint(0, n, shape)


def example(module, inputs):
    """Seeded by the caller. The module with its weights fixed, and its inputs: examples, or shapes of random ones."""
    for p in module.parameters():
        p.requires_grad_(False)
    return tuple(i() if callable(i) else torch.randn(*i) for i in inputs)


def main(doc, kind, names, write):
    """Each of names as the case FOLDER/kind/NAME, by write(case function of exportcase.py, root, name)."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--exportcase', default=os.environ.get('EXPORTCASE'))
    p.add_argument('folder')
    p.add_argument('patterns', nargs='*', default=['*'])
    opt = p.parse_args()
    spec = importlib.util.spec_from_file_location('exportcase', opt.exportcase)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    root, failed = os.path.join(opt.folder, kind), []
    for name in names:
        if not any(fnmatch.fnmatch(name, q) for q in opt.patterns) or os.path.exists(os.path.join(root, name, 'case.json')):
            continue
        torch.manual_seed(0)
        try:
            write(tool.case, root, name)
        except Exception as e:
            failed.append(name)
            print(f'{name} does not export: {type(e).__name__}: {str(e)[:300]}', file=sys.stderr)
    return 1 if failed else 0
