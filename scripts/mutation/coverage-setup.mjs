/** Runs in the process of each test file while coverage is learnt: notes which counters each test reached, and which the file as a whole. */
import { afterAll, afterEach, beforeEach } from "vitest";

const counters = new Map();
const shared = {};
let file;

globalThis.countersOf = (path, count) => {
  const hits = new Uint8Array(count);
  counters.set(path, hits);
  return hits;
};

/** What was reached since the last time, by source. */
function takeHits() {
  const taken = {};
  for (const [path, hits] of counters) {
    const reached = [...hits.keys()].filter((at) => hits[at] === 1);
    if (reached.length > 0) taken[path] = reached;
    hits.fill(0);
  }
  return taken;
}

function share() {
  for (const [path, reached] of Object.entries(takeHits())) shared[path] = [...new Set([...(shared[path] ?? []), ...reached])];
}

beforeEach(({ task }) => {
  file = task.file;
  share();
});
afterEach(({ task }) => {
  task.meta.hits = takeHits();
});
afterAll(() => {
  share();
  if (file) file.meta.shared = shared;
});
