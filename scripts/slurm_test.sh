#!/usr/bin/env bash
# scripts/slurm_test.sh: runs the batch script of docs/cluster.md on a Slurm of this machine alone, once to its end and
# once with a SIGTERM on the way, and compares the results with those of one process. Needs root, slurm-wlm and munge.
set -euo pipefail
# shellcheck source=scripts/setup.sh
source "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/setup.sh"
need "$build_needs" "$slurm_needs"
build release ignd_tool
((EUID == 0)) || fail "Slurm's daemons want root"

scratch=$(mktemp -d)
daemons=()
stop() {
  for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$scratch"
}
trap stop EXIT

# Daemons of our own, with everything they keep in a scratch folder.
export SLURM_CONF=$scratch/slurm.conf
chmod 755 "$scratch"
mkdir -p "$scratch"/{state,spool,munge}
chown -R munge "$scratch/munge"
dd if=/dev/urandom of="$scratch/munge/key" bs=128 count=1 status=none
chmod 600 "$scratch/munge/key"
chown munge "$scratch/munge/key"
host=$(hostname -s)
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(localhost)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
CredType=cred/munge
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MpiDefault=none
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=localhost CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES
END
setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --force --key-file="$scratch/munge/key" \
  --socket="$scratch/munge/socket" --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" \
  --seed-file="$scratch/munge/seed" >/dev/null 2>&1 &
daemons+=($!)
while [[ ! -S $scratch/munge/socket ]]; do sleep 0.1; done
slurmctld -D >/dev/null 2>&1 &
daemons+=($!)
slurmd -D -N "$host" >/dev/null 2>&1 &
daemons+=($!)
for ((tries = 0; tries < 60; ++tries)); do
  [[ $(sinfo -h -o %T 2>/dev/null) != idle ]] || break
  sleep 1
done
[[ $(sinfo -h -o %T) == idle ]] || fail "Slurm did not start: $(tail -n 3 "$scratch"/slurm*.log)"

cd "$scratch"
cat >study.toml <<'END'
title = "Scales"
question = "Does it learn?"
task = "frozen-lake"
seeds = 20
x-label = "episode"
metric = { label = "return", better = "higher" }
[settings]
episodes = 4000
[search]
rates = [0.1, 0.5, 1]
choose-by = "tuning-seeds"
tuning-seeds = 200
[[panel]]
name = "one"
title = "One"
[[panel.method]]
name = "QL"
optimizer = "sgd"
[[panel.method]]
name = "IGNDQ"
optimizer = "ignd"
rate = 1
END
sed -n '/^<!-- batch script/,/^```$/p' "$root/docs/cluster.md" | sed '/^<!--/d; /^```/d' >study.sbatch
grep -q '^srun' study.sbatch || fail "docs/cluster.md has no batch script"
export PATH=$root/build/release/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ignd reproduce study.toml --out one 2>/dev/null >/dev/null

content() {
  python3 - "$1/results.sqlite" <<'END'
import sqlite3, sys
columns = "config, status, failed_at, score, validation, hex(x), hex(y), hex(validation_y), hex(steps), extras, version"
for row in sqlite3.connect(sys.argv[1]).execute(f"SELECT {columns} FROM run ORDER BY config"):
    print(row)
END
}
count() {
  python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM run").fetchone()[0])' \
    "$1/results.sqlite" 2>/dev/null || echo 0
}
submit() { sbatch --parsable --ntasks=3 --time=5 --output="$scratch/job.out" study.sbatch; }

job=$(submit)
# The first three ranks are told to end on the way; the job goes back to the queue, and another submission completes it.
while (($(count results) < 50)); do
  [[ -n $(squeue -h -j "$job" 2>/dev/null) ]] || fail "the job ended too early: $(cat job.out)"
  sleep 0.05
done
scancel --signal=TERM "$job"
while [[ $(squeue -h -j "$job" -o %T 2>/dev/null) == RUNNING ]]; do sleep 0.2; done
stored=$(count results)
grep -q "the same command resumes them" job.out || fail "the job did not stop in good order: $(cat job.out)"
((stored >= 50 && stored < 640)) || fail "$stored runs were stored before SIGTERM"
echo "SIGTERM after $stored runs; the job is $(squeue -h -j "$job" -o %T 2>/dev/null)"
scancel "$job" 2>/dev/null || true
while [[ -n $(squeue -h -j "$job" 2>/dev/null) ]]; do sleep 0.2; done
job=$(submit)
while [[ -n $(squeue -h -j "$job" 2>/dev/null) ]]; do sleep 0.5; done
cmp <(content one) <(content results) || fail "the results differ from those of one process: $(cat job.out)"
[[ -e results/report.html ]] || fail "there is no report: $(cat job.out)"
echo "640 runs on 3 ranks of Slurm, the same as those of one process"
