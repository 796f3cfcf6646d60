import { openDockerEngine } from "../docker-engine.mjs";
import { compare, NEVER, scaled, time } from "../harness.mjs";

export const needsRoot = true;
export const limitMs = 600_000;

const SIZES = [
  { files: 10, blocks: 4, each: 5 },
  { files: 10_000, blocks: 3, each: 1 },
];
const WHAT = "snapshot and fork, a command in the fork answering";
const BESIDE = "docker commit and run";
/** It keeps the container after it has answered. */
const WAIT = "echo up; exec cat";

/** A copy of what runs, made and answering: Belljar's, and an engine's that this starts by itself. Both by their interfaces, without a command line. */
export async function measure(home) {
  const engine = await openDockerEngine().catch((error) => ({ reason: `the Docker engine does not start here: ${error.message}` }));
  if (!engine?.run) return [{ what: `${WHAT}, beside ${BESIDE}`, omitted: engine?.reason ?? "no Docker engine" }];
  try {
    const rows = [];
    for (const size of SIZES) rows.push(await compared(home, engine, size));
    return rows;
  } finally {
    await engine.close();
  }
}

async function compared(home, engine, { files, blocks, each }) {
  const sandbox = await home.create();
  const write = filling(scaled(files));
  await sandbox.guest.run({ argv: ["sh", "-c", write], signal: NEVER });
  const container = await engine.run(`${write}; ${WAIT}`);
  try {
    const works = { reference: () => copyContainer(engine, container), measured: () => copySandbox(home, sandbox) };
    return { what: `${WHAT}, ${files.toLocaleString("en")} files written`, beside: BESIDE, ...(await compare({ ...works, blocks, each })) };
  } finally {
    await engine.removeContainer(container);
    await sandbox.kill();
  }
}

/** The same in both, of a hundred bytes each. */
function filling(count) {
  const text = "x".repeat(99);
  return `i=0; while [ $i -lt ${count} ]; do d=/tmp/many/$((i % 100)); [ -d $d ] || mkdir -p $d; echo ${text} > $d/$i; i=$((i + 1)); done`;
}

/** The removal of both is not measured. */
async function copySandbox(home, sandbox) {
  let snapshot;
  let fork;
  const took = await time(async () => {
    snapshot = await home.snapshot(sandbox);
    [fork] = await home.fork({ snapshot: snapshot.id });
    await fork.guest.run({ argv: ["sh", "-c", "echo up"], signal: NEVER });
  });
  await fork.kill();
  await home.removeSnapshot(snapshot);
  return took;
}

async function copyContainer(engine, container) {
  let image;
  let copy;
  const took = await time(async () => {
    image = await engine.commit(container);
    copy = await engine.run(WAIT, image);
  });
  await engine.removeContainer(copy);
  await engine.removeImage(image);
  return took;
}
