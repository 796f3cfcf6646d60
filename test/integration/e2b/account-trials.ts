import { Sandbox, Secret, Template, Volume, VolumeNotFoundError, VolumePathNotFoundError } from "e2b";
import { expect } from "vitest";
import type { Method, Trial } from "./trial.ts";

export const SECRETS: Readonly<Record<string, Method>> = {
  "Secret.create": async ({ options }) => expect(await Secret.create("made", "value", options)).toMatchObject({ name: "made" }),
  "Secret.update": async ({ options }) => expect(await Secret.update("made", "other", options)).toMatchObject({ version: 2 }),
  "Secret.getInfo": async ({ options }) => expect(await Secret.getInfo("made", options)).toMatchObject({ name: "made" }),
  "Secret.list": async ({ options }) => expect((await Secret.list(options).nextItems()).map(({ name }) => name)).toEqual(["made"]),
  "Secret.exists": async ({ options }) => expect(await Secret.exists("made", options)).toBe(true),
  "Secret.destroy": async ({ options }) =>
    expect([await Secret.destroy("made", options), await Secret.destroy("made", options)]).toEqual([true, false]),
};

export const TEMPLATES: Readonly<Record<string, Method>> = {
  "Template.build": async ({ options }) => {
    const template = Template().fromTemplate("base").runCmd("echo built > /home/user/built.txt").setWorkdir("/home/user");
    const { templateId } = await Template.build(template, "tried", options);
    const made = await Sandbox.create("tried", options);
    expect([templateId !== "", await made.files.read("/home/user/built.txt")]).toEqual([true, "built\n"]);
    await made.kill();
  },
  "Template.buildInBackground": async ({ options }) => {
    const info = await Template.buildInBackground(Template().fromTemplate("base").runCmd("true"), "behind", options);
    expect(await settled(info, options)).toBe("ready");
  },
  "Template.getBuildStatus": async ({ options }) => {
    const info = await Template.buildInBackground(Template().fromTemplate("base").runCmd("exit 7"), "failing", options);
    expect(await settled(info, options)).toBe("error");
  },
  "Template.exists": async ({ options }) =>
    expect([await Template.exists("tried", options), await Template.exists("never", options)]).toEqual([true, false]),
  "Template.aliasExists": async ({ options }) => expect(await Template.aliasExists("tried", options)).toBe(true),
  "Template.assignTags": async ({ options }) =>
    expect(await Template.assignTags("tried:default", ["v1"], options)).toMatchObject({ tags: ["v1"] }),
  "Template.getTags": async ({ options }) =>
    expect((await Template.getTags("tried", options)).map(({ tag }) => tag).toSorted()).toEqual(["default", "v1"]),
  "Template.removeTags": async ({ options }) => Template.removeTags("tried", ["v1"], options),
};

async function settled(info: Parameters<typeof Template.getBuildStatus>[0], options: Trial["options"]): Promise<string> {
  for (;;) {
    const { status } = await Template.getBuildStatus(info, options);
    if (status === "ready" || status === "error") return status;
  }
}

/** The volume that the first trial makes, and how its files are asked for. */
async function opened({ options }: Trial): Promise<{ readonly volume: Volume; readonly options: { readonly apiUrl?: string } }> {
  const [found] = await Volume.list(options);
  const { apiUrl } = options;
  return { volume: await Volume.connect(found?.volumeId ?? "", options), options: { ...(apiUrl !== undefined && { apiUrl }) } };
}

export const VOLUMES: Readonly<Record<string, Method>> = {
  "Volume.create": async ({ options }) => {
    expect(await Volume.create("made", options)).toMatchObject({ name: "made", token: expect.stringMatching(/^e2bv_/) });
    await expect(Volume.create("made", options)).rejects.toThrow("400: You have a volume named");
    await expect(Volume.create("../made", options)).rejects.toThrow("400: A volume's name");
  },
  "Volume.list": async ({ options }) => expect((await Volume.list(options)).map(({ name }) => name)).toEqual(["made"]),
  "Volume.connect": async (trial) => {
    const { volume } = await opened(trial);
    const { name } = volume;
    expect(name).toBe("made");
  },
  "Volume.getInfo": async (trial) => {
    const { volume } = await opened(trial);
    const { volumeId, token } = volume;
    const { options } = trial;
    expect(await Volume.getInfo(volumeId, options)).toMatchObject({ volumeId, name: "made", token });
    await expect(Volume.getInfo("none", options)).rejects.toBeInstanceOf(VolumeNotFoundError);
  },
  makeDir: async (trial) => {
    const { volume, options } = await opened(trial);
    expect(await volume.makeDir("/a", options)).toMatchObject({ name: "a", path: "/a", type: "directory", uid: 1000, gid: 1000 });
    await expect(volume.makeDir("/a", options)).rejects.toThrow("409");
    await expect(volume.makeDir("/b/c", options)).rejects.toBeInstanceOf(VolumePathNotFoundError);
    expect(await volume.makeDir("/b/c", { ...options, force: true, mode: 0o700 })).toMatchObject({ path: "/b/c", mode: 0o700 });
  },
  writeFile: async (trial) => {
    const { volume, options } = await opened(trial);
    const { canFreeze: isRoot } = trial;
    expect(await volume.writeFile("/a/text", "first", options)).toMatchObject({ path: "/a/text", type: "file", size: 5, mode: 0o644 });
    expect(await volume.writeFile("/a/text", new Blob(["second"]).stream(), { ...options, mode: 0o600 })).toMatchObject({ size: 6 });
    await expect(volume.writeFile("/a/text", "third", { ...options, force: false })).rejects.toThrow("409");
    await expect(volume.writeFile("/none/text", "x", options)).rejects.toBeInstanceOf(VolumePathNotFoundError);
    const given = volume.writeFile("/a/empty", "", { ...options, uid: 0, gid: 7 });
    await (isRoot ? expect(given).resolves.toMatchObject({ uid: 0, gid: 7 }) : expect(given).rejects.toThrow("cannot give files"));
  },
  readFile: async (trial) => {
    const { volume, options } = await opened(trial);
    const { make, options: account } = trial;
    expect(await volume.readFile("/a/text", options)).toBe("second");
    const made = await make({ volumeMounts: { "/mnt/data": volume, "/srv/again": "made" } });
    expect((await made.commands.run("cat /mnt/data/a/text; echo from inside > /srv/again/inside; pwd")).stdout).toBe("second/home/user\n");
    expect(await volume.readFile("/inside", { ...options, format: "bytes" })).toEqual(new TextEncoder().encode("from inside\n"));
    expect((await made.getInfo()).volumeMounts).toEqual([
      { name: "made", path: "/mnt/data" },
      { name: "made", path: "/srv/again" },
    ]);
    await expect(Volume.destroy(volume.volumeId, account)).rejects.toThrow("409");
    await made.kill();
  },
  getInfo: async (trial) => {
    const { volume, options } = await opened(trial);
    expect(await volume.getInfo("/inside", options)).toMatchObject({ name: "inside", type: "file", size: 12, uid: 1000, gid: 1000 });
  },
  exists: async (trial) => {
    const { volume, options } = await opened(trial);
    expect([await volume.exists("/inside", options), await volume.exists("/nothing", options)]).toEqual([true, false]);
  },
  list: async (trial) => {
    const { volume, options } = await opened(trial);
    const names = async (depth?: number) => (await volume.list("/", { ...options, ...(depth && { depth }) })).map(({ path }) => path);
    expect(await names()).toEqual(["/a", "/b", "/inside"]);
    expect(await names(2)).toEqual(expect.arrayContaining(["/a", "/a/text", "/b", "/b/c", "/inside"]));
  },
  updateMetadata: async (trial) => {
    const { volume, options } = await opened(trial);
    expect(await volume.updateMetadata("/inside", { mode: 0o600 }, options)).toMatchObject({ mode: 0o600, uid: 1000 });
  },
  remove: async (trial) => {
    const { volume, options } = await opened(trial);
    await volume.remove("/a", options);
    await volume.remove("/inside", options);
    expect((await volume.list("/", options)).map(({ name }) => name)).toEqual(["b"]);
    await expect(volume.remove("/a", options)).rejects.toBeInstanceOf(VolumePathNotFoundError);
  },
  "Volume.destroy": async (trial) => {
    const { volume } = await opened(trial);
    const { volumeId } = volume;
    const { options } = trial;
    expect([await Volume.destroy(volumeId, options), await Volume.destroy(volumeId, options)]).toEqual([true, false]);
  },
};
