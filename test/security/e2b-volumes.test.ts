import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { readdir, readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { Sandbox, Volume } from "e2b";
import { expect } from "vitest";
import type { E2bLab } from "../support/e2b-lab.ts";
import { openE2bLab } from "../support/e2b-lab.ts";
import { verifies } from "./verifies.ts";

const SECRET = "of the host alone";

interface Asked {
  readonly method?: string;
  readonly part?: string;
  readonly path?: string;
  /** In place of `path`, as it stands. */
  readonly query?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Asks for files of a volume as no SDK would. */
function asksOf(lab: E2bLab, volume: Pick<Volume, "volumeId" | "token">) {
  return async ({ method = "GET", part = "file", path = "", query, token = volume.token, headers, body }: Asked) => {
    const url = `/volumecontent/${volume.volumeId}/${part}?${query ?? `path=${encodeURIComponent(path)}`}`;
    const type = part === "file" ? "application/octet-stream" : "application/json";
    const sent = {
      ...(token !== "" && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": type }),
      ...headers,
    };
    const answer = await lab.ask(url, { method, headers: sent, ...(body !== undefined && { body }) });
    return { status: answer.status, text: await answer.text() };
  };
}

/** The folder that a volume is on the host. */
async function folderOf(lab: E2bLab, { volumeId }: Pick<Volume, "volumeId">): Promise<string> {
  return join(await realpath(lab.cli.home), "volumes", volumeId.slice(0, 20));
}

verifies(
  "volumes-lead-nowhere",
  async () => {
    await using lab = await openE2bLab();
    const volume = await Volume.create("shared", lab.options);
    const ask = asksOf(lab, volume);
    const folder = await folderOf(lab, volume);
    const target = join(realpathSync(lab.cli.home), "private");
    mkdirSync(target, { mode: 0o755 });
    writeFileSync(join(target, "secret"), SECRET, { mode: 0o644 });
    const [hostile, other] = await Promise.all([
      Sandbox.create({ ...lab.options, volumeMounts: { "/mnt/data": volume } }),
      Sandbox.create({ ...lab.options, volumeMounts: { "/srv/data": "shared" } }),
    ]);
    const plant = `cd /mnt/data && ln -s ${target}/secret file && ln -s ${target} dir && ln -s ../volume.json up && mkdir real && ln -s ../dir real/inner && ln -s /proc/self/root/etc/shadow shadow && mkfifo pipe`;
    await hostile.commands.run(plant);

    // The attack: whoever opens these names on the host, as any server of files might, is led out.
    const tree = join(folder, "tree");
    expect(readFileSync(join(tree, "file"), "utf8")).toBe(SECRET);
    expect(readFileSync(join(tree, "dir/secret"), "utf8")).toBe(SECRET);
    expect(readFileSync(join(tree, "real/inner/secret"), "utf8")).toBe(SECRET);
    expect(existsSync(join(tree, "../volume.json"))).toBe(true);

    const answers: string[] = [];
    const refused = async (asked: Asked, ...statuses: readonly number[]): Promise<void> => {
      const { status, text } = await ask(asked);
      answers.push(text);
      expect(statuses, `${JSON.stringify(asked)}: ${text}`).toContain(status);
    };
    for (const path of ["file", "dir/secret", "real/inner/secret", "up", "shadow", "dir", "pipe"]) await refused({ path }, 400, 404);
    for (const path of ["../volume.json", "/../volume.json", "real/../../volume.json", "a\0b", `${"x/".repeat(3_000)}x`])
      for (const part of ["file", "path", "dir"]) await refused({ path, part }, 400);
    await refused({ query: "path=%2e%2e%2fvolume.json" }, 400);
    await refused({ query: "path=..%252f..%252fvolume.json" }, 404);
    for (const path of ["dir", "dir/", "real/inner"]) await refused({ path, part: "dir" }, 400, 404);
    await refused({ path: "dir/new", part: "dir", method: "POST" }, 400, 404);
    await refused({ query: "path=dir/new/er&force=true", part: "dir", method: "POST" }, 400, 404);
    await refused({ path: "dir/new", method: "PUT", body: "written" }, 400, 404);
    await refused({ path: "dir/secret", part: "path", method: "DELETE" }, 404);
    await refused({ path: "dir/secret", part: "path", method: "PATCH", body: '{"mode":0}' }, 404);
    // A link is told of, written over and removed as what it is.
    const isLink = JSON.stringify(await volume.getInfo("/file", { apiUrl: lab.url }));
    expect(isLink).toContain('"symlink"');
    expect((await ask({ path: "file", part: "path", method: "PATCH", body: '{"mode":0}' })).status).toBe(200);
    expect((await ask({ path: "file", method: "PUT", body: "written" })).status).toBe(201);
    expect((await ask({ path: "dir", part: "path", method: "DELETE" })).status).toBe(204);
    expect((await ask({ path: "real", part: "path", method: "DELETE" })).status).toBe(204);
    expect([readFileSync(join(target, "secret"), "utf8"), statSync(join(target, "secret")).mode & 0o777]).toEqual([SECRET, 0o644]);
    expect(await readdir(target)).toEqual(["secret"]);
    expect(answers.join("\n")).not.toContain(folder);

    // In another sandbox the same names lead to its own files, and nobody leaves the volume by its mount.
    await hostile.commands.run(`cd /mnt/data && ln -s ${target} dir && ln -s /etc/hostname name && ln -s /srv/data/.. above`);
    const walk = "cat /srv/data/dir/secret /srv/data/up; cat /srv/data/name; ls /srv/data/above /srv/data/..; stat -c %d:%i /srv/data/..";
    const seen = await other.commands.run(`(${walk}) 2>/dev/null || true`);
    expect(seen.stdout).not.toContain(SECRET);
    expect(seen.stdout).not.toContain("volume.json");
    expect((await hostile.commands.run("grep -c ' /mnt/data ' /proc/self/mountinfo; ! grep -q private /proc/self/mountinfo")).stdout).toBe(
      "1\n",
    );
    for (const path of ["/proc/x", "/etc", "/", "mnt", "/mnt/../etc", "/opt/belljar/bin"])
      await expect(Sandbox.create({ ...lab.options, volumeMounts: { [path]: volume } }), path).rejects.toThrow(/^400: /);

    // Nor is anything removed beyond it.
    await Promise.all([hostile.kill(), other.kill()]);
    expect(await Volume.destroy(volume.volumeId, lab.options)).toBe(true);
    expect([existsSync(folder), await readFile(join(target, "secret"), "utf8")]).toEqual([false, SECRET]);
    expect((await readdir(join(folder, ".."))).filter((name) => name !== "")).toEqual([]);
  },
  60_000,
);

verifies(
  "volumes-owners-apart",
  async () => {
    await using lab = await openE2bLab({ env: { BELLJAR_E2B_VOLUME_QUOTA: "2m" } });
    const volume = await Volume.create("shared", lab.options);
    const other = await Volume.create("other", lab.options);
    const at = { apiUrl: lab.url };
    await volume.writeFile("/mine", SECRET, at);
    const ask = asksOf(lab, volume);
    expect((await ask({ path: "mine" })).text, "with its token").toBe(SECRET);

    const mallory = { ...lab.options, apiKey: await lab.makeKey("mallory") };
    const asMallory = async (id: string, method: string) => {
      const answer = await lab.ask(`/volumes/${id}`, { method, headers: { "x-api-key": mallory.apiKey } });
      return [answer.status, (await answer.text()).replaceAll(id, "ID")];
    };
    const unknown = `${volume.volumeId.slice(0, 39)}${volume.volumeId.endsWith("a") ? "b" : "a"}`;
    for (const method of ["GET", "DELETE"])
      expect(await asMallory(volume.volumeId, method), method).toEqual(await asMallory(unknown, method));
    expect(await asMallory(volume.volumeId, "GET")).toEqual([404, expect.stringContaining("VOLUME_NOT_FOUND")]);
    expect(await Volume.list(mallory)).toEqual([]);
    for (const name of ["shared", volume.volumeId])
      await expect(Sandbox.create({ ...mallory, volumeMounts: { "/mnt/data": name } }), name).rejects.toThrow(/^400: You have no volume/);
    expect((await Volume.create("shared", mallory)).volumeId, "the same name of another owner").not.toBe(volume.volumeId);

    const tokens = ["", "x", other.token, `${volume.token}A`, volume.token.replace("e2bv", "e2ba"), lab.key];
    for (const token of tokens) expect((await ask({ path: "mine", token })).status, token).toBe(401);
    expect((await ask({ path: "mine", token: "", headers: { "x-api-key": lab.key } })).status, "a key").toBe(401);
    const reader = await lab.makeKey("agent", ["read-only"]);
    const read = async (path: string) => (await lab.ask(path, { headers: { "x-api-key": reader } })).status;
    expect([await read("/volumes"), await read(`/volumes/${volume.volumeId}`)]).toEqual([200, 403]);

    // A size holds for uploads at once, and for what sandboxes wrote from the next count on.
    await expect(volume.writeFile("/big", "x".repeat(3 * 2 ** 20), at)).rejects.toThrow(/^507: /);
    expect(
      (await volume.list("/", at)).map(({ name }) => name),
      "nothing of it is left",
    ).toEqual(["mine"]);
    const sandbox = await Sandbox.create({ ...lab.options, volumeMounts: { "/mnt/data": volume } });
    await expect(Volume.destroy(volume.volumeId, lab.options), "in use").rejects.toThrow(/^.*409/);
    await sandbox.commands.run("head -c 3m /dev/urandom > /mnt/data/filler");
    await lab.restart(); // a server that has counted nothing yet
    await expect(volume.writeFile("/more", "x", at)).rejects.toThrow(/^507: /);
    await expect(Sandbox.create({ ...lab.options, volumeMounts: { "/mnt/data": volume } })).rejects.toThrow(/^507: /);
    await volume.remove("/filler", at);
    await volume.writeFile("/more", "x", at);

    // Without a key of its owner its token is worth nothing.
    const { stdout } = await lab.cli.run(["token", "list", "--json"]);
    await sandbox.kill();
    const own = (JSON.parse(stdout) as readonly { readonly id: string; readonly name: string }[]).filter(({ name }) => name === "agent");
    for (const { id } of own) await lab.cli.run(["token", "revoke", id]);
    await lab.restart();
    expect((await ask({ path: "mine" })).status).toBe(401);
  },
  60_000,
);
