import { expect, it } from "vitest";
import type { ConnectionRecord } from "./connection-record.ts";
import { RefusalLog } from "./refusal-log.ts";

function record(host: string, more: Partial<ConnectionRecord> = {}): ConnectionRecord {
  const counts = { sentBytes: 0, receivedBytes: 0, durationMs: 0 };
  return { sandbox: "a", owner: "local", via: "http", host, port: 80, verdict: "refused", reason: "no-rule", ...counts, ...more };
}

const placesOf = (window: ReturnType<RefusalLog["open"]>): readonly string[] => window.take().places.map(({ place }) => place);

it("gives each open window what is refused meanwhile, by place and reason", () => {
  const log = new RefusalLog();
  using first = log.open("a");
  log.note(record("one.test"));
  using second = log.open("a");
  log.note(record("one.test"));
  log.note(record("one.test", { reason: "private-address", missingRule: "one.test:80" }));
  log.note(record("two.test", { via: "dns", port: 53 }));
  expect(first.take()).toEqual({
    places: [
      { place: "one.test:80", reason: "no-rule", missingRule: undefined, count: 2 },
      { place: "one.test:80", reason: "private-address", missingRule: "one.test:80", count: 1 },
      { place: "two.test", reason: "no-rule", missingRule: undefined, count: 1 },
    ],
    others: 0,
  });
  expect(second.take().places[0]?.count).toBe(1);
});

it("keeps what came while no window was open for the next one, once", () => {
  const log = new RefusalLog();
  log.note(record("before.test"));
  using first = log.open("a");
  using second = log.open("a");
  log.note(record("then.test"));
  expect(placesOf(first)).toEqual(["before.test:80", "then.test:80"]);
  expect(placesOf(second)).toEqual(["then.test:80"]);
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  log.note(record("after.test"));
  log.forget("a");
  using third = log.open("a");
  expect(placesOf(third)).toEqual([]);
});

it("tells apart five places, and counts the rest", () => {
  const log = new RefusalLog();
  for (let n = 0; n < 4; n += 1) log.note(record(`early${n}.test`));
  using window = log.open("a");
  for (let n = 0; n < 1_000; n += 1) log.note(record(`h${n}.test`));
  const { places, others } = window.take();
  expect(places.map(({ place }) => place)).toEqual([0, 1, 2, 3].map((n) => `early${n}.test:80`).concat("h0.test:80"));
  expect(others).toBe(999);
});

it("keeps apart sandboxes, and takes refusals alone", () => {
  const log = new RefusalLog();
  using window = log.open("a");
  log.note(record("other.test", { sandbox: "b" }));
  log.note(record("fine.test", { verdict: "allowed" }));
  log.note(record("gone.test", { verdict: "failed", reason: "unreachable" }));
  expect(window.take()).toEqual({ places: [], others: 0 });
});

it("remembers unseen refusals of the thousand latest sandboxes", () => {
  const log = new RefusalLog();
  for (let n = 0; n <= 1_000; n += 1) log.note(record("x.test", { sandbox: `s${n}` }));
  const [first, second] = [log.open("s0"), log.open("s1")];
  expect([placesOf(first), placesOf(second)]).toEqual([[], ["x.test:80"]]);
});
