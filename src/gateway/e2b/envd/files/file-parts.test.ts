import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import type { FilePart } from "./file-parts.ts";
import { PARTS_MAX, readFileParts } from "./file-parts.ts";

const BOUNDARY = "the boundary";
const TYPE = `multipart/form-data; boundary="${BOUNDARY}"`;

function part(disposition: string, content: string): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
}

const END = `--${BOUNDARY}--\r\n`;

async function read(
  body: Readable | string,
  take?: (part: FilePart) => Promise<void>,
): Promise<readonly (readonly [string | undefined, string])[]> {
  const found: (readonly [string | undefined, string])[] = [];
  const whole = async ({ fileName, content }: FilePart): Promise<void> => void found.push([fileName, await text(content)]);
  await readFileParts(typeof body === "string" ? Readable.from([Buffer.from(body)]) : body, TYPE, take ?? whole);
  return found;
}

it("gives the files in their order, by the names that they were sent with, and drops all else", async () => {
  const form = [
    part('name="file"; filename="/home/user/d/b.txt"', "one"),
    part('name="other"; filename="no"', "x".repeat(10_000)),
    part('name="file"', "without a name"),
    part('name="file"; filename="../ü %41;=.txt"', ""),
    part('name="comment"', "no"),
  ];
  const expected = [
    ["/home/user/d/b.txt", "one"],
    [undefined, "without a name"],
    ["../ü %41;=.txt", ""],
  ];
  expect(await read(form.join("") + END)).toEqual(expected);
  const bytes = Buffer.from(form.join("") + END);
  expect(await read(Readable.from(Array.from(bytes, (byte) => Buffer.of(byte))))).toEqual(expected);
});

it("refuses what is no whole form, and fails the file that is being taken", async () => {
  const failed: unknown[] = [];
  const take = async ({ content }: FilePart): Promise<void> =>
    void (await text(content).catch((error: unknown) => Promise.reject(failed.push(error))));
  await expect(read(part('name="file"; filename="a"', "cut").slice(0, -4), take)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  expect(failed).toHaveLength(1);
  await expect(read("no form")).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  await expect(readFileParts(Readable.from([]), "multipart/form-data", async () => undefined)).rejects.toMatchObject({
    code: "ARGUMENTS_INVALID",
  });
});

it("reads no further than the file that is being taken", async () => {
  let sent = 0;
  const chunk = Buffer.alloc(65_536);
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`);
    for (; sent < 1_000; sent += 1) yield chunk;
  }
  const stop = new Error("enough");
  const take = async ({ content }: FilePart): Promise<void> => {
    // The first piece is there, and as much as fits has come.
    for await (const _ of content) throw stop;
  };
  await expect(read(Readable.from(body(), { objectMode: true }), take)).rejects.toBe(stop);
  expect(sent).toBeLessThan(20);
});

it("reads no further than the small file that is being taken, whose body has many more", async () => {
  let sent = 0;
  async function* body(): AsyncGenerator<Buffer> {
    for (; sent < 1_000; sent += 1) yield Buffer.from(part('name="file"; filename="a"', "x"));
  }
  const stop = new Error("enough");
  const take = async (): Promise<void> => {
    for (let turn = 0; turn < 100; turn += 1) await setImmediate();
    throw stop;
  };
  await expect(read(Readable.from(body()), take)).rejects.toBe(stop);
  expect(sent).toBeLessThan(20);
});

it("fails the file that is being taken with its body", async () => {
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nbegun`);
    throw new Error("the client went away");
  }
  const outcomes: Promise<string>[] = [];
  const take = async ({ content }: FilePart): Promise<void> => {
    outcomes.push(text(content).catch(String));
    await outcomes[0];
  };
  await expect(read(Readable.from(body()), take)).rejects.toThrow("the client went away");
  expect(await Promise.all(outcomes)).toEqual(["Error: the client went away"]);
});

it("takes one small file after the other, however many a piece of the body holds", async () => {
  let together = 0;
  let most = 0;
  const take = async ({ content }: FilePart): Promise<void> => {
    most = Math.max(most, (together += 1));
    await text(content);
    together -= 1;
  };
  const forms = Array.from({ length: 1_000 }, (_, at) => part(`name="file"; filename="${at}"`, "x"));
  await read(forms.join("") + END, take);
  expect(most).toBe(1);
});

it("stops at a failure of whoever takes a file, and at too many parts", async () => {
  const taken: (string | undefined)[] = [];
  const take = async ({ fileName, content }: FilePart): Promise<void> => {
    await text(content);
    taken.push(fileName);
    if (fileName === "1") throw new Error("the disk is full");
  };
  const forms = Array.from({ length: 5 }, (_, at) => part(`name="file"; filename="${at}"`, "x"));
  await expect(read(forms.join("") + END, take)).rejects.toThrow("the disk is full");
  expect(taken).toEqual(["0", "1"]);
  const many = part('name="other"', "x").repeat(PARTS_MAX + 1) + END;
  await expect(read(many)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("ends with a form whose closing delimiter stands behind no part that could be read", async () => {
  const form = '--b\r\nCe"; \r\n--b-- name="file"; \r\n--b--\r\n\r\ncut';
  const cut = [Buffer.from(form.slice(0, 20)), Buffer.from(form.slice(20))];
  for (const pieces of [[Buffer.from(form)], cut]) {
    const taken: unknown[] = [];
    const read = readFileParts(Readable.from(pieces), "multipart/form-data; boundary=b", async (part) => void taken.push(part));
    // Whether such a form is whole is the parser's to say.
    await Promise.allSettled([read]);
    expect(taken).toEqual([]);
  }
});

it("keeps nothing of the pieces that were taken, however many come", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const heap = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  let grown = 0;
  const piece = Buffer.from("x");
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`);
    const before = heap();
    for (let sent = 0; sent < 20_000; sent += 1) yield piece;
    grown = heap() - before;
    yield Buffer.from(`\r\n${END}`);
  }
  await read(Readable.from(body(), { objectMode: true }), async ({ content }) => {
    for await (const _ of content);
  });
  expect(grown).toBeLessThan(5 * 2 ** 20);
});
