import { expect, it } from "vitest";
import { boundedLog, mergedUpdates } from "./bounded-notices.ts";

/** A client that takes what it is sent when it is told to. */
function slowClient() {
  const sent: unknown[] = [];
  const takes: (() => void)[] = [];
  const send = (...message: readonly unknown[]): Promise<void> => {
    sent.push(message[1] ?? message[0]);
    return new Promise((resolve) => takes.push(resolve));
  };
  const takeAll = async (): Promise<void> => {
    for (const take of takes.splice(0)) take();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { sent, send, takeAll };
}

it("drops messages of a log that come faster than the client takes them", async () => {
  const { sent, send, takeAll } = slowClient();
  const log = boundedLog(send);
  for (let at = 0; at < 1_000; at += 1) log("info", at);
  expect(sent).toEqual(Array.from({ length: 100 }, (_, at) => at));
  await takeAll();
  log("info", "next");
  expect(sent.slice(100)).toEqual(["next"]);
});

it("sends one message of any length, and no long one beside others", async () => {
  const { sent, send, takeAll } = slowClient();
  const log = boundedLog(send);
  const long = "x".repeat(1_000_000);
  for (const data of [long, "short", long]) log("info", data);
  expect(sent).toEqual([long]);
  await takeAll();
  for (const data of ["short", long, "shorter"]) log("info", data);
  expect(sent.slice(1)).toEqual(["short", "shorter"]);
});

it("tells once of all changes of a resource that the client has not been told of", async () => {
  const { sent, send, takeAll } = slowClient();
  const tell = mergedUpdates(send);
  for (const uri of ["x://1", "x://1", "x://2", "x://1"]) tell(uri);
  expect(sent).toEqual(["x://1", "x://2"]);
  await takeAll();
  expect(sent.slice(2)).toEqual(["x://1"]);
  await takeAll();
  await takeAll();
  expect(sent).toHaveLength(3);
});

it("goes on after what could not be sent", async () => {
  let sent = 0;
  const fail = async (): Promise<void> => {
    sent += 1;
    throw new Error("gone");
  };
  const [log, tell] = [boundedLog(fail), mergedUpdates(fail)];
  for (let turn = 0; turn < 2; turn += 1) {
    log("info", "x".repeat(1_000_000));
    tell("x://1");
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sent).toBe(4);
});
