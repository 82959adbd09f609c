"""The command line: list the claims, run them, write the table of results and the pages."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from .catalogue import Claim, claims, documents
from .results import ROOT, Results
from .runs import missing_data, run
from .verdict import Finding, Verdict, judge

OUT = Path("out/reproduce")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="everlearn reproduce", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("list", help="claims with their verdicts")
    shown.add_argument(
        "ids", nargs="*", metavar="ID", help="only these, with everything that is known of them"
    )
    shown.add_argument("--document", choices=list(documents()), help="only the claims of one document")
    shown.add_argument("--verdict", choices=[v.value for v in Verdict], help="only claims with this verdict")
    running = commands.add_parser("run", help="measure claims; an interrupted run goes on where it was")
    running.add_argument("ids", nargs="+", metavar="ID", help="claims, documents, or `all`")
    running.add_argument("--quick", action="store_true", help="a trial on few rows: does everything run?")
    running.add_argument("--out", type=Path, default=OUT, help=f"folder for results (default: {OUT})")
    report = commands.add_parser("report", help="write the table of all results and the pages made of it")
    report.add_argument("--out", type=Path, default=OUT, help=f"folder for results.csv (default: {OUT})")
    report.add_argument("--check", action="store_true", help="write nothing: fail if a page is out of date")
    return parser


def _chosen(ids: Sequence[str], parser: argparse.ArgumentParser) -> list[Claim]:
    """Claims by ids, documents or `all`; an unknown name ends the program."""
    known, books = claims(), documents()
    found: dict[str, Claim] = {}
    for name in ids:
        if name == "all":
            found |= known
        elif name in books:
            found |= {claim.id: claim for claim in books[name].claims}
        elif name in known:
            found[name] = known[name]
        else:
            near = [key for key in known if name in key][:5]
            hint = f"Did you mean {', '.join(near)}?" if near else "`everlearn reproduce list` shows all."
            parser.error(f"no claim or document {name!r}. {hint}")
    return list(found.values())


def _wrapped(label: str, text: str) -> str:
    return textwrap.fill(f"{label} {text}", 100, subsequent_indent=" " * 13)


def _print_whole(finding: Finding) -> None:
    claim = finding.claim
    print(f"{claim.id}: {finding.verdict.value}")
    print(_wrapped("  place     ", f"{documents()[claim.document].authors}: {', '.join(claim.places)}"))
    print(_wrapped("  claim     ", claim.claim))
    for label, text in (("protocol", claim.protocol), ("cost", claim.cost), ("not done", finding.reason)):
        if text:
            print(_wrapped(f"  {label:<10}", text))
    for table, arguments in claim.commands():
        print(f"  command    python -m benchmarks.{shlex.join([table, *arguments])}")
    if claim.data:
        lacking = missing_data(claim)
        note = f"; EVERLEARN_DATA lacks {', '.join(lacking)}" if lacking else ""
        print(_wrapped("  data      ", ", ".join(claim.data) + note))
    for text in claim.missing:
        print(_wrapped("  missing   ", text))
    for check in finding.checks:
        print(_wrapped("  holds     " if check.holds else "  fails     ", check.text))
    print()


def _list(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    results = Results()
    chosen = _chosen(args.ids or ([args.document] if args.document else ["all"]), parser)
    findings = [judge(claim, results) for claim in chosen]
    if args.verdict:
        findings = [finding for finding in findings if finding.verdict.value == args.verdict]
    if args.ids:
        for finding in findings:
            _print_whole(finding)
        return 0
    width = max((len(finding.claim.id) for finding in findings), default=0)
    for finding in findings:
        short = textwrap.shorten(finding.claim.claim, 90, placeholder=" ...")
        print(f"{finding.claim.id:<{width}}  {finding.verdict.value:<19}  {short}")
    counts = {v.value: sum(f.verdict is v for f in findings) for v in Verdict}
    print(f"\n{len(findings)} claims: " + ", ".join(f"{n} {v}" for v, n in counts.items() if n))
    return 0


def _run(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    chosen = [claim for claim in _chosen(args.ids, parser) if claim.parts]
    if not chosen:
        parser.error("none of these can be measured here; `everlearn reproduce list ID` says why.")
    lacking = {name for claim in chosen for name in missing_data(claim)}
    if lacking:
        parser.error(
            f"EVERLEARN_DATA must be a folder with these data sets: {', '.join(sorted(lacking))} (.npz). "
            "`everlearn reproduce list ID` says where to get what is not public in one place."
        )
    folder = args.out / "quick" if args.quick else args.out  # a trial is no result
    return 1 if run(chosen, folder.resolve(), args.quick) else 0


def _report(args: argparse.Namespace) -> int:
    from .comparison_page import comparison_page
    from .papers_page import papers_pages

    results = Results()
    pages = {**papers_pages(results), "comparison.md": comparison_page(results)}
    folder = ROOT / "docs"
    if args.check:
        stale = [name for name, text in pages.items() if _read(folder / name) != text]
        if stale:
            print(f"Out of date: {', '.join(stale)} in docs/. Run `make reproduce ARGS=report`.")
        return 1 if stale else 0
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    ids: dict[str, list[str]] = {}
    for claim in claims().values():
        for part in claim.sources:
            ids.setdefault(part, []).append(claim.id)
    count = results.write(args.out / "results.csv", ids)
    figures = folder / "figures" / "laboratory.py"
    if subprocess.run([sys.executable, str(figures)], check=False).returncode:
        print("The figures were not drawn: they need Matplotlib, `pip install 'everlearn[plot]'`.")
    print(
        f"{args.out / 'results.csv'}: {count:,} measured values. Written: "
        f"{', '.join(f'docs/{n}' for n in pages)}."
    )
    return 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command == "list":
        return _list(args, parser)
    return _run(args, parser) if args.command == "run" else _report(args)
