import { availableMemory, inParallel, MIB, NEVER, scaled, summarise, time } from "../harness.mjs";

const STOPPED = scaled(10_000);
const LIVE = scaled(1_000);
const PAUSED = scaled(500);
/** So many of the stopped ones are started again. All live and all paused ones are asked. */
const STARTED = scaled(200);
const LISTS = 5;
const SMALL = { limits: { memoryBytes: 64 * MIB, diskBytes: 16 * MIB, pids: 32 }, bestEffort: true };

/** An ordinary user has no freezer. */
export const needsRoot = true;
export const limitMs = 1_200_000;

/** A home with very many sandboxes: what do they take, how long is a list of them, is a new one made as quickly, do all answer? */
export async function measure(home) {
  const before = availableMemory();
  const stopped = Array.from({ length: STOPPED });
  await inParallel(stopped.keys(), async (index) => {
    stopped[index] = await home.create({ ...SMALL, onDeadline: "stop" });
    await stopped[index].stop();
  });
  const [live, creates] = [[], []];
  while (live.length < LIVE) creates.push(await time(async () => void live.push(await home.create(SMALL))));
  const paused = [];
  while (paused.length < PAUSED) paused.push(await home.create(SMALL));
  for (const sandbox of paused) await sandbox.pause();
  const took = (before - availableMemory()) / MIB;
  const [lists, first] = [[], []];
  for (let i = 0; i < LISTS; i += 1) {
    lists.push(await time(() => expectCount(home.list(), STOPPED + LIVE + PAUSED)));
    first.push(await time(() => expectCount(home.listAnew(), STOPPED + LIVE + PAUSED)));
  }
  const created = summarise(creates);
  await inParallel([...live, ...paused], answers);
  await inParallel(stopped.slice(0, STARTED), async (sandbox) => answers(await sandbox.start(NEVER)));
  return [
    { what: `list of ${STOPPED} stopped, ${LIVE} live and ${PAUSED} paused sandboxes`, most: 300, measured: summarise(lists) },
    { what: "the first list of a process", measured: summarise(first) },
    { what: "memory of all of them", unit: "MiB", most: 3_072, measured: summarise([took]), note: "by what the host could still give" },
    {
      what: "create beside them",
      measured: created,
      note: `all live and paused ones answered afterwards, and ${STARTED} of the stopped ones`,
    },
    { what: "p99 of that create / its p50", unit: "x", most: 3, measured: summarise([created.p99 / created.p50]) },
  ];
}

async function expectCount(list, count) {
  const { length } = await list;
  if (length !== count) throw new Error(`${length} of ${count} sandboxes were listed`);
}

function answers({ guest }) {
  return guest.run({ argv: ["/bin/true"], signal: NEVER });
}
