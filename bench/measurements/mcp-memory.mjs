import { MIB, scaled } from "../harness.mjs";
import { openToolServer } from "../mcp-client.mjs";

const AT_ONCE = 32;
const WARM_CALLS = scaled(10_000);
const CALLS = scaled(100_000);
const SESSIONS = scaled(1_000);

/** For 100,000 calls on a busy machine. */
export const limitMs = 240_000;

/** Sessions are left as a client that dies leaves them: the second thousand pushes the first out. */
export async function measure() {
  const server = await openToolServer("belljar");
  const openSessions = async () => {
    for (let i = 0; i < SESSIONS; i += 1) await server.openSession();
  };
  try {
    await server.callAll(WARM_CALLS, AT_ONCE);
    await openSessions();
    const before = await server.cost("memory");
    await server.callAll(CALLS, AT_ONCE);
    await openSessions();
    const after = await server.cost("memory");
    const row = (what, field, goal) => ({
      what,
      unit: "MiB",
      goal,
      beside: "before",
      reference: once(before[field]),
      measured: once(after[field]),
    });
    return [
      row("heap of the server after 100,000 calls and 1,000 sessions", "heapBytes", 1.05),
      row("its resident memory, which the engine grows and shrinks as it likes", "residentBytes", 1.05),
    ];
  } finally {
    await server.close();
  }
}

function once(bytes) {
  const value = bytes / MIB;
  return { p50: value, p95: value, p99: value, n: 1 };
}
