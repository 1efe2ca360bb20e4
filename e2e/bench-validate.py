#!/usr/bin/env python3
"""bench-validate.py BUNDLE_TOOL CORPUS

Validates every bundle directory below CORPUS in a process of its own and prints the median, the 99th percentile and the
maximum of time (wall clock, process start included) and peak memory, and the slowest and largest bundles. Each bundle
is measured three times; its fastest run counts.

Memory is measured in a run of its own through GNU time: a child of this script starts with the script's own peak.

A benchmark, not a test: nothing fails. For steady figures, run it on an idle machine.
"""
import os, subprocess, sys, tempfile, time

if len(sys.argv) != 3:
    sys.exit(__doc__)
tool, corpus = sys.argv[1:]
bundles = sorted(os.path.join(corpus, name) for name in os.listdir(corpus))
bundles = [path for path in bundles if os.path.isdir(os.path.join(path, 'manifests'))]


def run(path):
    start = time.perf_counter()
    child = subprocess.Popen([tool, 'validate', path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f'{tool} validate {path}: exit status {child.returncode}')
    return took * 1000, (usage.ru_utime + usage.ru_stime) * 1000


def peak(path):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(['/usr/bin/time', '-q', '-f', '%M', '-o', file.name, tool, 'validate', path],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return int(file.read()) / 1024


run(bundles[0])
rows = []
for path in bundles:
    runs = [run(path) for _ in range(3)]
    with_images = any(b'relatedImages:' in open(os.path.join(path, 'manifests', name), 'rb').read()
                      for name in os.listdir(os.path.join(path, 'manifests')))
    rows.append((min(r[0] for r in runs), peak(path), min(r[1] for r in runs), with_images, os.path.basename(path)))


def line(title, values, unit):
    values = sorted(values)
    at = lambda share: values[min(len(values) - 1, int(len(values) * share))]
    print(f'{title:28} median {at(0.5):7.2f} {unit}   99th percentile {at(0.99):7.2f} {unit}   maximum {values[-1]:7.2f} {unit}')


print(f'{len(rows)} bundles, one process each')
line('wall clock', [r[0] for r in rows], 'ms')
line('CPU time', [r[2] for r in rows], 'ms')
line('peak memory', [r[1] for r in rows], 'MB')
for title, wanted in (('with relatedImages', True), ('without relatedImages', False)):
    some = [r for r in rows if r[3] == wanted]
    if some:
        line(f'{title}: time', [r[0] for r in some], 'ms')
        line(f'{title}: memory', [r[1] for r in some], 'MB')
for title, key in (('slowest', 0), ('largest', 1)):
    print(title + ': ' + ', '.join(f'{r[4]} ({r[0]:.1f} ms, {r[1]:.0f} MB)' for r in sorted(rows, key=lambda r: -r[key])[:5]))
