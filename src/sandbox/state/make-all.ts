import { mapLimit } from "../../async/map-limit.ts";

/** Far fewer than a host can start at once: others make sandboxes too. */
const PARALLEL = 8;

/** Makes so many, or none: after the first failure it makes no more, kills those that it has made, and rejects with that failure. */
export async function makeAll<Made extends { kill(): Promise<void> }>(count: number, make: () => Promise<Made>): Promise<readonly Made[]> {
  const made: Made[] = [];
  const failures: unknown[] = [];
  await mapLimit(Array.from({ length: count }), PARALLEL, async () => {
    if (failures.length > 0) return;
    try {
      made.push(await make());
    } catch (cause) {
      failures.push(cause);
    }
  });
  if (failures.length === 0) return made;
  const kills = await Promise.allSettled(made.map((one) => one.kill()));
  failures.push(...kills.flatMap((kill) => (kill.status === "rejected" ? [kill.reason as unknown] : [])));
  throw failures[0];
}
