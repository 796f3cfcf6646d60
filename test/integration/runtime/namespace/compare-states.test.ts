import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StateEntry } from "../../../../src/runtime/contract/state-store.ts";
import { giveToSandbox, openLayerLab } from "../../../support/layer-lab.ts";

const whiteout = (path: string): Buffer => execFileSync("mknod", ["-m", "0", path, "c", "0", "0"]);
const opaque = (path: string): Buffer =>
  execFileSync("python3", ["-c", "import os, sys; os.setxattr(sys.argv[1], 'user.overlay.opaque', b'y')", path]);

const setXattr = (path: string, name: string, value: string): Buffer =>
  execFileSync("python3", ["-c", "import os, sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())", path, name, value]);
const attributesOf = (entry: StateEntry | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries([...(entry?.attributes ?? [])].map(([name, value]) => [name, value.toString()]));

describe("states of layers", () => {
  it("differ in what a layer adds, changes and hides", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    for (const name of ["kept", "changed", "removed", "copied"]) writeFileSync(join(template, name), name);
    writeFileSync(join(upper, "changed"), "CHANGED");
    writeFileSync(join(upper, "copied"), "copied");
    writeFileSync(join(upper, "added"), "new");
    whiteout(join(upper, "removed"));
    whiteout(join(upper, "never-there"));
    const [before, after] = [lab.state(["template"]), lab.state(["one", "template"])];
    expect(await lab.tell(before, after)).toEqual(["added file /added", "changed file /changed", "removed file /removed"]);
    expect(await lab.tell(after, before)).toEqual(["added file /removed", "changed file /changed", "removed file /added"]);
    expect(await lab.tell(after, after)).toEqual([]);
  });

  it("differ in all that an opaque folder hides, and in nothing that it has again", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    mkdirSync(join(template, "folder/deep"), { recursive: true });
    for (const name of ["same", "gone", "deep/gone"]) writeFileSync(join(template, "folder", name), name);
    mkdirSync(join(upper, "folder"));
    opaque(join(upper, "folder"));
    writeFileSync(join(upper, "folder/same"), "same");
    writeFileSync(join(upper, "folder/new"), "new");
    expect(await lab.tell(lab.state(["template"]), lab.state(["one", "template"]))).toEqual([
      "added file /folder/new",
      "removed directory /folder/deep",
      "removed file /folder/deep/gone",
      "removed file /folder/gone",
    ]);
  });

  it("differ in all below a folder that was removed, also if it was made again above", async () => {
    using lab = openLayerLab();
    const [template, middle, upper] = [lab.layer("template"), lab.layer("middle"), lab.layer("upper")];
    mkdirSync(join(template, "a/b"), { recursive: true });
    writeFileSync(join(template, "a/b/c"), "c");
    whiteout(join(middle, "a"));
    mkdirSync(join(upper, "a/b"), { recursive: true });
    const [one, two, three] = [lab.state(["template"]), lab.state(["middle", "template"]), lab.state(["upper", "middle", "template"])];
    expect(await lab.tell(one, two)).toEqual(["removed directory /a", "removed directory /a/b", "removed file /a/b/c"]);
    expect(await lab.tell(two, three)).toEqual(["added directory /a", "added directory /a/b"]);
    expect(await lab.tell(one, three)).toEqual(["removed file /a/b/c"]);
  });

  it("differ in types, modes and links, and not in a folder's time", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    for (const root of [template, upper]) mkdirSync(join(root, "folder"));
    utimesSync(join(upper, "folder"), 1, 1);
    for (const root of [template, upper]) writeFileSync(join(root, "script"), "x");
    chmodSync(join(upper, "script"), 0o755);
    symlinkSync("one", join(template, "link"));
    symlinkSync("two", join(upper, "link"));
    for (const root of [template, upper]) symlinkSync("same", join(root, "same"));
    writeFileSync(join(template, "swapped"), "file");
    mkdirSync(join(upper, "swapped"));
    writeFileSync(join(upper, "swapped/in"), "in");
    execFileSync("mkfifo", [join(upper, "pipe")]);
    expect(await lab.tell(lab.state(["template"]), lab.state(["one", "template"]))).toEqual([
      "added file /swapped/in",
      "added other /pipe",
      "changed file /script",
      "changed file->directory /swapped",
      "changed link /link",
    ]);
  });

  it("are told by their contents where size and time are the same", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    for (const [root, text] of [[template, "aa"], [upper, "ab"]] as const) { writeFileSync(join(root, "file"), text); utimesSync(join(root, "file"), 5, 5); } // prettier-ignore
    expect(await lab.tell(lab.state(["template"]), lab.state(["one", "template"]))).toEqual(["changed file /file"]);
  });

  it("have sparse files compared by what lies in them", async () => {
    using lab = openLayerLab();
    const sparse = (path: string, at: number, text: string): void => {
      const file = openSync(path, "w");
      ftruncateSync(file, 2 ** 40);
      writeSync(file, text, at);
      closeSync(file);
    };
    for (const [name, text] of [["template", "here"], ["one", "here"], ["two", "HERE"]] as const) sparse(join(lab.layer(name), "disk"), 2 ** 39, text); // prettier-ignore
    expect(await lab.tell(lab.state(["template"]), lab.state(["one", "template"]))).toEqual([]);
    expect(await lab.tell(lab.state(["template"]), lab.state(["two", "template"]))).toEqual(["changed file /disk"]);
  });

  it("have every name, at 200 levels, and say what lies deeper", async () => {
    using lab = openLayerLab();
    const [, upper] = [lab.layer("template"), lab.layer("one")];
    const long = "n".repeat(255);
    for (const name of [long, "with\nline", "with space"]) writeFileSync(join(upper, name), "x");
    execFileSync("sh", [
      "-c",
      `cd "$1" && printf x > "$(printf 'b\\377d')" && i=0; while [ $i -lt 250 ]; do mkdir d && cd d && i=$((i+1)); done`,
      "sh",
      upper,
    ]);
    const told = await lab.tell(lab.state(["template"]), lab.state(["one", "template"]));
    expect(told.filter((line) => !line.includes("/d"))).toEqual(["added file /b\xffd", `added file /${long}`, "added file /with\nline", "added file /with space"].toSorted()); // prettier-ignore
    const deep = told.filter((line) => line.includes("/d"));
    expect(deep.length).toBe(200);
    expect(deep.filter((line) => line.endsWith(" unseen"))).toEqual([`added directory ${"/d".repeat(200)} unseen`]);
  });

  it("know hard links as the files that they are", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    for (const name of ["a", "b"]) writeFileSync(join(template, name), "old");
    writeFileSync(join(upper, "a"), "new");
    linkSync(join(upper, "a"), join(upper, "b"));
    expect(await lab.tell(lab.state(["template"]), lab.state(["one", "template"]))).toEqual(["changed file /a", "changed file /b"]);
  });

  it("have the names of one file told as one file, on each side", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    for (const name of ["a", "b", "c"]) writeFileSync(join(template, name), "old");
    for (const name of ["a", "c"]) writeFileSync(join(upper, name), "new");
    linkSync(join(upper, "a"), join(upper, "b"));
    const changes = await lab.compare(lab.state(["template"]), lab.state(["one", "template"]));
    const [a, b, c] = ["/a", "/b", "/c"].map((name) => changes.find(({ path }) => path.toString() === name));
    expect(a?.after?.file).toMatch(/^[0-9a-f]+-[0-9a-f]+$/);
    expect(b?.after?.file).toBe(a?.after?.file);
    expect([c?.after?.file, a?.before?.file]).toEqual([undefined, undefined]);
  });

  it("differ in the extended attributes that programs set, and not in those of overlays", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    for (const root of [template, upper]) {
      mkdirSync(join(root, "folder"));
      mkdirSync(join(root, "folder.same"));
      for (const name of ["file", "file.same", "file.gone", "file.order"]) writeFileSync(join(root, name), "x");
      writeFileSync(join(root, "empty"), "");
      for (const name of ["file", "file.gone", "file.order"]) setXattr(join(root, name), "user.a", "1");
    }
    setXattr(join(template, "file.order"), "user.b", "2");
    setXattr(join(template, "file.order"), "user.c", "3");
    setXattr(join(upper, "file.order"), "user.c", "3");
    setXattr(join(upper, "file.order"), "user.b", "2");
    for (const name of ["file.same", "folder.same"]) setXattr(join(upper, name), "user.overlay.origin", "x");
    for (const name of ["folder", "empty"]) setXattr(join(upper, name), "user.b", "");
    setXattr(join(upper, "file"), "user.a", "2");
    execFileSync("python3", ["-c", "import os, sys; os.removexattr(sys.argv[1], 'user.a')", join(upper, "file.gone")]);
    const changes = await lab.compare(lab.state(["template"]), lab.state(["one", "template"]));
    const told = changes.map(({ path, before, after }) => [path.toString(), [attributesOf(before), attributesOf(after)]]);
    expect(Object.fromEntries(told)).toEqual({
      "/empty": [{}, { "user.b": "" }],
      "/file": [{ "user.a": "1" }, { "user.a": "2" }],
      "/file.gone": [{ "user.a": "1" }, {}],
      "/folder": [{}, { "user.b": "" }],
    });
  });

  it("have the present one on top, and leave mounts out", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("live")];
    mkdirSync(join(template, "dev"));
    mkdirSync(join(upper, "dev"));
    for (const name of ["dev/null", "a"]) writeFileSync(join(upper, name), "x");
    expect(await lab.tell(lab.state(["template"]), lab.state(["template"], "live"))).toEqual(["added file /a"]);
  });

  it("may have many layers, whose folders are not all open at once", async () => {
    using lab = openLayerLab();
    lab.layer("template");
    const names = Array.from({ length: 80 }, (_, index) => `layer-${index}`);
    for (const name of names) {
      const root = lab.layer(name);
      for (const folder of ["a/b/c/d", "a/b/x/y", "z"]) {
        mkdirSync(join(root, folder), { recursive: true });
        writeFileSync(join(root, folder, name), name);
      }
    }
    const told = await lab.tell(lab.state(["template"]), lab.state([...names.slice(1), "template"], "layer-0"));
    expect(told.filter((line) => line.startsWith("added file "))).toHaveLength(240);
    expect(told.filter((line) => line.startsWith("added directory "))).toHaveLength(7);
    expect(told).toHaveLength(247);
  });

  it("have the ids inside", async () => {
    using lab = openLayerLab();
    const [, upper] = [lab.layer("template"), lab.layer("one")];
    for (const name of ["root", "user", "foreign"]) writeFileSync(join(upper, name), name);
    giveToSandbox(join(upper, "root"), 0);
    giveToSandbox(join(upper, "user"), 1000);
    const changes = await lab.compare(lab.state(["template"]), lab.state(["one", "template"]));
    const ids = Object.fromEntries(changes.map(({ path, after }) => [path.toString(), after?.uid]));
    const isRoot = process.getuid?.() === 0;
    expect(ids).toEqual(isRoot ? { "/root": 0, "/user": 1000, "/foreign": 65_534 } : { "/root": 1000, "/user": 1000, "/foreign": 1000 });
  });

  it("give their files", async () => {
    using lab = openLayerLab();
    const [template, upper] = [lab.layer("template"), lab.layer("one")];
    mkdirSync(join(template, "a"));
    writeFileSync(join(template, "a/file"), "old");
    writeFileSync(join(template, "big"), Buffer.alloc(200_000, "b"));
    mkdirSync(join(upper, "a"));
    writeFileSync(join(upper, "a/file"), "new");
    whiteout(join(upper, "big"));
    symlinkSync("file", join(upper, "a/link"));
    const [old, now] = [lab.state(["template"]), lab.state(["one", "template"])];
    expect((await lab.read(old, "/a/file")).toString()).toBe("old");
    expect((await lab.read(now, "/a/file")).toString()).toBe("new");
    expect((await lab.read(old, "/big")).length).toBe(200_000);
    await expect(lab.read(old, "/big", 199_999)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
    for (const path of ["/big", "/a", "/a/link", "/nothing", "/a/file/below"])
      await expect(lab.read(now, path)).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });

  it("are not compared for a caller who has left", async () => {
    using lab = openLayerLab();
    lab.layer("template");
    await expect(lab.compare(lab.state(["template"]), lab.state(["template"]), AbortSignal.abort())).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });
});
