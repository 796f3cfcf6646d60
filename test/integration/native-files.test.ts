import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  chmodSync,
} from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Field } from "../../src/protocol/fields.ts";
import { ENTRY_TYPE, EVENT_KIND, FLAG, GUEST_ERROR } from "../../src/protocol/wire.ts";
import {
  buildNativeTests,
  dataOf,
  errorOf,
  fieldsOf,
  NativeGuest,
  type Build,
  type Frame,
  type RawStream,
} from "../support/native-guest.ts";

const BUILDS: readonly Build[] = ["guest-main", "guest-main-sanitized"];
const FIVE_GIB = 5 * 2 ** 30;

beforeAll(buildNativeTests, 120_000);

describe.each(BUILDS)("%s", (build) => {
  test("replaces a file in one step, keeps its mode and leaves nothing beside it", async () => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("in"));
    writeFileSync(guest.path("in/file"), "old", { mode: 0o640 });
    const stream = await write(
      guest,
      [
        ["PATH", guest.path("in/file")],
        ["FLAGS", FLAG.ATOMIC],
      ],
      "new",
    );
    await stream.rest();
    expect(readFileSync(guest.path("in/file"), "utf8")).toBe("new");
    expect(statSync(guest.path("in/file")).mode & 0o777).toBe(0o640);
    expect(readdirSync(guest.path("in"))).toEqual(["file"]);
  });

  test("leaves the old file whole when the host goes away in the middle", async () => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("in"));
    writeFileSync(guest.path("in/file"), "old");
    const watch = await guest.call("WATCH", [["PATH", guest.path("in")]]);
    await watch.until("REPLY");
    const stream = await guest.call("WRITE", [
      ["PATH", guest.path("in/file")],
      ["FLAGS", FLAG.ATOMIC],
    ]);
    stream.send("DATA", 0, Buffer.from("half"));
    await event(watch, EVENT_KIND.WRITE);
    stream.close();
    await event(watch, EVENT_KIND.REMOVE);
    expect(readFileSync(guest.path("in/file"), "utf8")).toBe("old");
  });

  test("writes at an offset, appends, and makes the folders above", async () => {
    await using guest = await NativeGuest.open(build);
    const path = guest.path("a/b/file");
    await (
      await write(
        guest,
        [
          ["PATH", path],
          ["FLAGS", FLAG.PARENTS],
        ],
        "hello world",
      )
    ).rest();
    await (
      await write(
        guest,
        [
          ["PATH", path],
          ["OFFSET", 1],
          ["FLAGS", FLAG.KEEP_REST],
        ],
        "EL",
      )
    ).rest();
    await (
      await write(
        guest,
        [
          ["PATH", path],
          ["FLAGS", FLAG.APPEND],
        ],
        "!",
      )
    ).rest();
    expect(readFileSync(path, "utf8")).toBe("hELlo world!");
  });

  test("answers a write that cannot be before the host has sent all of it", async () => {
    await using guest = await NativeGuest.open(build);
    const stream = await guest.call("WRITE", [
      ["PATH", guest.path("no/such/file")],
      ["FLAGS", 0],
    ]);
    for (let i = 0; i < 64; i++) stream.send("DATA", 0, Buffer.alloc(65_536));
    const frame = await stream.next();
    expect(frame && errorOf([frame])[0]).toBe(GUEST_ERROR.NOT_FOUND);
    stream.close();
  });

  test("makes holes of the zeros of a sparse write", async () => {
    await using guest = await NativeGuest.open(build);
    const content = Buffer.concat([Buffer.from("start"), Buffer.alloc(8 * 2 ** 20), Buffer.from("middle"), Buffer.alloc(8 * 2 ** 20 + 1)]);
    const put = async (name: string, flags: number): Promise<void> => {
      const stream = await guest.call("WRITE", [
        ["PATH", guest.path(name)],
        ["FLAGS", flags],
      ]);
      for (let at = 0; at < content.length; at += 60_000) stream.send("DATA", 0, content.subarray(at, at + 60_000));
      stream.send("END", 0);
      await stream.rest();
      expect(readFileSync(guest.path(name)).equals(content)).toBe(true);
    };
    await put("sparse", FLAG.ATOMIC | FLAG.SPARSE);
    await put("full", FLAG.ATOMIC);
    expect(statSync(guest.path("sparse")).blocks * 512).toBeLessThan(65_536);
    expect(statSync(guest.path("full")).blocks * 512).toBeGreaterThanOrEqual(content.length);
    writeFileSync(guest.path("old"), Buffer.alloc(content.length, "x"));
    await put("old", FLAG.SPARSE); // in place, so zeros are written over what lies there
  });

  test("reads a range of a sparse file of 5 GiB and copies its hole as a hole", async () => {
    await using guest = await NativeGuest.open(build);
    writeFileSync(guest.path("sparse"), "");
    truncateSync(guest.path("sparse"), FIVE_GIB);
    await (
      await write(
        guest,
        [
          ["PATH", guest.path("sparse")],
          ["OFFSET", FIVE_GIB],
          ["FLAGS", FLAG.KEEP_REST],
        ],
        "end",
      )
    ).rest();
    const read = await guest.ask("READ", [
      ["PATH", guest.path("sparse")],
      ["OFFSET", FIVE_GIB - 1],
      ["LIMIT", 3],
    ]);
    await guest.ask("COPY", [
      ["PATH", guest.path("sparse")],
      ["TARGET", guest.path("copy")],
      ["FLAGS", 0],
    ]);
    expect(dataOf(read, 0)).toBe("\0en");
    expect(statSync(guest.path("copy")).size).toBe(FIVE_GIB + 3);
    expect(statSync(guest.path("copy")).blocks).toBeLessThan(1000);
  });

  test.each([
    ["a folder", "folder", GUEST_ERROR.IS_A_DIRECTORY],
    ["a FIFO", "fifo", GUEST_ERROR.NOT_SUPPORTED],
    ["a device", "/dev/zero", GUEST_ERROR.NOT_SUPPORTED],
    ["a loop of links", "loop", GUEST_ERROR.PATH_INVALID],
    ["a path of 4,096 bytes", `/${"x/".repeat(2048)}`, GUEST_ERROR.PATH_INVALID],
    ["a missing file", "missing", GUEST_ERROR.NOT_FOUND],
    ["a file used as a folder", "file/below", GUEST_ERROR.NOT_A_DIRECTORY],
  ])("refuses to read %s", async (_what, name, code) => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("folder"));
    writeFileSync(guest.path("file"), "");
    symlinkSync("loop", guest.path("loop"));
    execFileSync("mkfifo", [guest.path("fifo")]);
    const path = name.startsWith("/") ? name : guest.path(name);
    expect(errorOf(await guest.ask("READ", [["PATH", path]]))[0]).toBe(code);
  });

  test("tells a link's text and where it ends, and does not follow links when it lists", async () => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("tree/sub"), { recursive: true });
    writeFileSync(guest.path("tree/sub/file"), "");
    symlinkSync("sub", guest.path("tree/link"));
    const rows = entries(
      await guest.ask("LIST", [
        ["PATH", guest.path("tree")],
        ["DEPTH", 5],
      ]),
    );
    const link = rows.find((row) => row.text("PATH") === "link");
    expect(rows.map((row) => row.text("PATH")).toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(["link", "sub", "sub/file"]);
    expect([link?.text("TARGET"), link?.text("RESOLVED")]).toEqual(["sub", guest.path("tree/sub")]);
  });

  test("passes names with newlines and invalid UTF-8 through as they are", async () => {
    await using guest = await NativeGuest.open(build);
    const name = Buffer.from([0x61, 0x0a, 0xff, 0xfe]);
    mkdirSync(guest.path("odd"));
    await guest.ask("MAKE_DIRECTORY", [["PATH", Buffer.concat([Buffer.from(guest.path("odd/")), name])]]);
    const rows = entries(await guest.ask("LIST", [["PATH", guest.path("odd")]]));
    expect(rows.map((row) => row.bytes("PATH"))).toEqual([name]);
  });

  test("removes a tree of 1,000 levels and never what a link in it points to", async () => {
    await using guest = await NativeGuest.open(build);
    writeFileSync(guest.path("kept"), "");
    mkdirSync(guest.path("tree"));
    symlinkSync(guest.folder, guest.path("tree/link"));
    execFileSync("/bin/sh", ["-c", "for i in $(seq 1000); do mkdir d && cd -P d || exit 1; done"], { cwd: guest.path("tree") });
    const frames = await guest.ask("REMOVE", [
      ["PATH", guest.path("tree")],
      ["FLAGS", FLAG.RECURSIVE],
    ]);
    expect(frames.at(-1)?.type).toBe("REPLY");
    expect([existsSync(guest.path("tree")), existsSync(guest.path("kept"))]).toEqual([false, true]);
  });

  test("refuses to remove a full folder unless told to, and to copy a folder into itself", async () => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("tree/sub"), { recursive: true });
    const remove = await guest.ask("REMOVE", [
      ["PATH", guest.path("tree")],
      ["FLAGS", 0],
    ]);
    const copy = await guest.ask("COPY", [
      ["PATH", guest.path("tree")],
      ["TARGET", guest.path("tree/sub/copy")],
      ["FLAGS", FLAG.RECURSIVE],
    ]);
    expect([errorOf(remove)[0], errorOf(copy)[0]]).toEqual([GUEST_ERROR.DIRECTORY_NOT_EMPTY, GUEST_ERROR.PATH_INVALID]);
  });

  test("copies a tree with its links and modes", async () => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("tree/sub"), { recursive: true });
    writeFileSync(guest.path("tree/sub/file"), "content");
    chmodSync(guest.path("tree/sub/file"), 0o751);
    symlinkSync("nowhere", guest.path("tree/link"));
    await guest.ask("COPY", [
      ["PATH", guest.path("tree")],
      ["TARGET", guest.path("copy")],
      ["FLAGS", FLAG.RECURSIVE],
    ]);
    expect(readFileSync(guest.path("copy/sub/file"), "utf8")).toBe("content");
    expect(statSync(guest.path("copy/sub/file")).mode & 0o777).toBe(0o751);
    expect(
      fieldsOf(
        (
          await guest.ask("STAT", [
            ["PATH", guest.path("copy/link")],
            ["FLAGS", 0],
          ])
        ).at(-1),
      ).text("TARGET"),
    ).toBe("nowhere");
  });

  test("does not replace what is there when told not to", async () => {
    await using guest = await NativeGuest.open(build);
    for (const name of ["one", "two"]) writeFileSync(guest.path(name), name);
    const rename = await guest.ask("RENAME", [
      ["PATH", guest.path("one")],
      ["TARGET", guest.path("two")],
      ["FLAGS", FLAG.EXCLUSIVE],
    ]);
    const create = await (
      await write(
        guest,
        [
          ["PATH", guest.path("two")],
          ["FLAGS", FLAG.EXCLUSIVE | FLAG.ATOMIC],
        ],
        "x",
      )
    ).rest();
    expect([errorOf(rename)[0], errorOf(create)[0]]).toEqual([GUEST_ERROR.ALREADY_EXISTS, GUEST_ERROR.ALREADY_EXISTS]);
    expect(readFileSync(guest.path("two"), "utf8")).toBe("two");
  });

  test("sees changes below new and renamed folders", async () => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("tree"));
    const watch = await guest.call("WATCH", [
      ["PATH", guest.path("tree")],
      ["FLAGS", FLAG.RECURSIVE],
    ]);
    await watch.until("REPLY");
    mkdirSync(guest.path("tree/new/sub"), { recursive: true });
    await event(watch, EVENT_KIND.CREATE, "new/sub");
    renameSync(guest.path("tree/new"), guest.path("tree/moved"));
    const renamed = await event(watch, EVENT_KIND.RENAME, "new");
    writeFileSync(guest.path("tree/moved/sub/file"), "x");
    expect(renamed.text("TARGET")).toBe("moved");
    await event(watch, EVENT_KIND.WRITE, "moved/sub/file");
    watch.close();
  });

  test("tells with an entry the attributes that are asked for, and what a link leads to", async () => {
    await using guest = await NativeGuest.open(build);
    const [folder, file] = [guest.path("in"), guest.path("in/file")];
    mkdirSync(folder);
    writeFileSync(file, "", { mode: 0o640 });
    symlinkSync("file", guest.path("in/link"));
    symlinkSync("nowhere", guest.path("in/broken"));
    const set = async (name: string, value: Buffer): Promise<void> => {
      const fields: readonly Field[] = [
        ["PATH", file],
        ["NAME", name],
        ["VALUE", value],
      ];
      await guest.ask("SET_XATTR", fields);
    };
    await set("user.a.one", Buffer.from("1\0\xff", "latin1"));
    await set("user.a.two", Buffer.alloc(0));
    await set("user.b", Buffer.from("x"));
    const toldOf = async (operation: "STAT" | "LIST", path: string, name?: string) => {
      const told = await guest.ask(operation, [
        ["PATH", path],
        ["NAME", name],
      ]);
      return told.filter(({ type }) => type === "ENTRY" || (operation === "STAT" && type === "REPLY")).map(fieldsOf);
    };
    const two = ["user.a.one\x001\0\xff", "user.a.two\0"];
    const [alone] = await toldOf("STAT", file, "user.a.");
    expect(
      alone
        ?.all("ATTRIBUTE")
        .map((bytes) => bytes.toString("latin1"))
        .toSorted(),
    ).toEqual(two);
    const listed = new Map((await toldOf("LIST", folder, "user.a.")).map((fields) => [fields.text("PATH"), fields]));
    expect(listed.get("file")?.all("ATTRIBUTE")).toHaveLength(2);
    expect(listed.get("link")?.all("ATTRIBUTE")).toEqual([]);
    expect([listed.get("link")?.number("RESOLVED_TYPE"), listed.get("link")?.number("RESOLVED_MODE")]).toEqual([ENTRY_TYPE.FILE, 0o640]);
    expect(listed.get("broken")?.number("RESOLVED_TYPE")).toBeUndefined();
    expect((await toldOf("LIST", folder)).flatMap((fields) => fields.all("ATTRIBUTE"))).toEqual([]);
    await set("user.a.big", Buffer.alloc(3_000, 1));
    for (const name of ["1", "2", "3", "4", "5", "6"])
      await guest.ask("SET_XATTR", [
        ["PATH", file],
        ["NAME", `user.c.${name}`],
        ["VALUE", Buffer.alloc(400, 1)],
      ]);
    const [full] = await toldOf("STAT", file, "user.");
    const bytes = full?.all("ATTRIBUTE").reduce((sum, { length }) => sum + length, 0) ?? 0;
    expect(bytes).toBeGreaterThan(3_000);
    expect(bytes).toBeLessThanOrEqual(16_384);
  });

  test("answers 10,000 names, one entry each", async () => {
    await using guest = await NativeGuest.open(build);
    mkdirSync(guest.path("many"));
    execFileSync("/bin/sh", ["-c", "seq 10000 | xargs touch"], { cwd: guest.path("many") });
    expect(entries(await guest.ask("LIST", [["PATH", guest.path("many")]]))).toHaveLength(10_000);
  });
});

async function write(guest: NativeGuest, fields: readonly Field[], content: string): Promise<RawStream> {
  const stream = await guest.call("WRITE", fields);
  return stream.send("DATA", 0, Buffer.from(content)).send("END", 0);
}

function entries(frames: readonly Frame[]) {
  return frames.filter((frame) => frame.type === "ENTRY").map(fieldsOf);
}

/** Waits for an event of this kind, of this path when one is named. */
async function event(watch: RawStream, kind: number, path?: string) {
  for (;;) {
    const fields = fieldsOf(await watch.until("EVENT"));
    if (fields.number("KIND") === kind && (path === undefined || fields.text("PATH") === path)) return fields;
  }
}
