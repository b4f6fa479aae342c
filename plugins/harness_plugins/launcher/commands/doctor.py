"""Carry out `dsh doctor`: look at this machine and this home, and say how to mend what is wrong."""

from argparse import ArgumentParser, Namespace

from harness_plugins.launcher.commands.answer import answer, rows
from harness_plugins.launcher.commands.command import Surroundings


def add_arguments(parser: ArgumentParser) -> None:
    """Take one switch."""
    parser.add_argument("--net", action="store_true", help="try to reach the provider as well")


def run(arguments: Namespace, surroundings: Surroundings) -> int:
    """Print one line per check; return 3 when something keeps `dsh` from working.

    Raises:
        UsageError: the network is to be tried and not to be used.
    """
    from harness_plugins.launcher.commands.checks import Finding
    from harness_plugins.launcher.commands.home_checks import home_findings
    from harness_plugins.launcher.commands.machine_checks import machine_findings
    from harness_plugins.launcher.complaint import Complaint
    from harness_plugins.launcher.errors import UsageError
    from harness_plugins.launcher.reporting import report

    if arguments.net and surroundings.options.is_offline:
        raise UsageError("--net and --offline contradict each other; choose one")
    findings: list[Finding] = [*machine_findings(surroundings), *home_findings(surroundings)]
    if arguments.net:
        from harness_plugins.launcher.commands.net_checks import net_findings

        findings += net_findings(surroundings)
    document = {"checks": [finding._asdict() for finding in findings]}
    text = rows(
        (finding.state, finding.name, "; ".join(filter(None, (finding.fact, finding.fix))))
        for finding in findings
    )
    answer(surroundings, document, text)
    failed = [finding for finding in findings if finding.state == "fail"]
    if not failed:
        return 0
    names = ", ".join(finding.name for finding in failed)
    count = f"{len(failed)} of {len(findings)} checks failed: {names}"
    hints = tuple(finding.fix for finding in failed if finding.fix)
    return report(Complaint("CONFIG_INVALID", count, hints), None, with_details=False)
