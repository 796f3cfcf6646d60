import { compare, isRoot, NEVER, pssOfSandboxes, scaled, summarise, time } from "../harness.mjs";
import { openServe } from "../mcp-client.mjs";

const FEW = 10;
const MANY = 100_000;
const EACH = 7;
const ROUNDS = 4;
const FORKS = 100;

/** Snapshots, forks, checkpoints and rollbacks of sandboxes that wrote few files and many, which are on the disk where there is one. */
export async function measure(home) {
  const small = await filled(home, FEW);
  const large = await filled(home, scaled(MANY));
  return [
    ...(await frozen(home, small, `${FEW} files`)),
    ...(await frozen(home, large, "100,000 files")),
    { what: `checkpoint, ${FEW} files written, nothing but the guest alive`, most: 15, measured: await checkpoints(small) },
    { what: "checkpoint, 100,000 files written, nothing but the guest alive", most: 15, measured: await checkpoints(large) },
    ...(await manyForks(home, small)),
    ...(await rollbacks({ [`${FEW} files`]: small, "100,000 files": large })),
    { what: "a stopped sandbox's next call, 100,000 files", most: 60, measured: await nextCalls(large) },
    await callsWithCheckpoints(home),
  ];
}

/** The goal is for a checkpoint that takes constant time. Elsewhere they are taken only on demand. */
async function callsWithCheckpoints(home) {
  const [without, beside] = [await home.create({ autoCheckpoint: "off" }), await home.create({ autoCheckpoint: "per_call" })];
  const serving = await openServe(home.env);
  let id = 0;
  const call = (sandbox) =>
    serving.client.post("tools/call", { name: "run_command", arguments: { command: "true", sandbox: sandbox.id } }, (id += 1));
  try {
    const compared = await compare({ reference: () => call(without), measured: () => call(beside), blocks: 12, each: 10 });
    const what = "run_command true over HTTP, with a checkpoint before each call";
    return { what, ...(isRoot && { added: 10 }), beside: "the same without", ...compared };
  } finally {
    await serving.close();
  }
}

async function filled(home, count) {
  const sandbox = await home.create();
  const script = `import os\nfor i in range(${count}):\n  d = f"many/{i % 100}"\n  os.makedirs(d, exist_ok=True)\n  open(f"{d}/{i}", "w").write("x" * 100)\nos.sync()`;
  const { exitCode } = await sandbox.guest.run({ argv: ["python3", "-c", script], signal: NEVER });
  if (exitCode !== 0) throw new Error("The files could not be written");
  return sandbox;
}

async function frozen(home, sandbox, size) {
  const snapshots = [];
  const forks = [];
  const snapshot = await sample(EACH, async () => snapshots.push(await home.snapshot(sandbox)));
  const fork = await sample(EACH, async () => {
    const [made] = await home.fork({ snapshot: snapshots[0].id });
    forks.push(made);
    await made.guest.ping(NEVER);
  });
  for (const made of forks) await made.kill();
  for (const one of snapshots) await home.removeSnapshot(one);
  return [
    { what: `snapshot, on the disk, ${size}`, most: 25, measured: snapshot },
    { what: `fork of a snapshot, answering, ${size}`, most: 25, measured: fork },
  ];
}

function checkpoints(sandbox) {
  return sample(EACH, () => sandbox.timeLine.checkpoint({}, NEVER));
}

async function manyForks(home, sandbox) {
  const started = performance.now();
  const forks = await home.fork({ sandbox: sandbox.id }, { count: scaled(FORKS), limits: { memoryBytes: 64 * 2 ** 20 }, bestEffort: true });
  await Promise.all(forks.map((fork) => fork.guest.ping(NEVER)));
  const took = performance.now() - started;
  const pss = isRoot ? [{ what: "PSS of a fork: keeper + guest", unit: "MiB", most: 1.5, measured: summarise(pssOfSandboxes(home)) }] : [];
  for (const fork of forks) await fork.kill();
  return [{ what: `${FORKS} forks of one sandbox, all answering`, most: 1_500, measured: summarise([took]) }, ...pss];
}

/** In turn, so that a busy moment of the disk falls on both. */
async function rollbacks(sandboxes) {
  const each = [];
  for (const [size, sandbox] of Object.entries(sandboxes))
    each.push({ size, now: sandbox, point: (await sandbox.timeLine.checkpoint({}, NEVER)).id, samples: [] });
  for (let round = 0; round < scaled(ROUNDS); round += 1)
    for (const one of each) one.samples.push(...(await samplesOf(EACH, () => rollBack(one))));
  return each.map(({ size, samples }) => {
    return { what: `rollback to the last checkpoint, the sandbox usable again, ${size}`, most: 30, measured: summarise(samples) };
  });
}

async function rollBack(one) {
  ({ sandbox: one.now } = await one.now.timeLine.rollback(one.point, NEVER));
  await one.now.guest.run({ argv: ["true"], signal: NEVER });
}

/** From the call for it on; the stop is not measured. */
async function nextCalls(sandbox) {
  const samples = [];
  let now = await sandbox.start(NEVER);
  for (let run = 0; run < scaled(EACH); run += 1) {
    await now.stop();
    const started = performance.now();
    now = await now.start(NEVER);
    await now.guest.run({ argv: ["true"], signal: NEVER });
    samples.push(performance.now() - started);
  }
  return summarise(samples);
}

async function sample(each, work) {
  return summarise(await samplesOf(each, work));
}

/** The first finds caches cold, and is not measured. */
async function samplesOf(each, work) {
  await work();
  const samples = [];
  for (let run = 0; run < scaled(each); run += 1) samples.push(await time(work));
  return samples;
}
