import { describe, expect, it } from "vitest";
import { INSIDE, LOCAL } from "../sandbox.ts";
import { placeOfWorkspace, spellingInside, withWorkspace } from "./workspace-place.ts";

const place = (path: string, principal = LOCAL) => placeOfWorkspace(principal, { path, mode: "copy" });

describe("the place of a workspace", () => {
  it.each([
    "/home/ada/project",
    "/srv/a",
    "/work/a",
    "/opt/app",
    "/mnt/c/a",
    "/var/www/a",
    "/var/lib/ci/a",
    "/usrx",
    "/home/user2/a",
    "/Users/ada",
  ])("is the path of the host: %s", (path) => expect(place(path)).toBe(path));

  it.each([
    "/",
    "/home",
    "/opt",
    "/var",
    "/var/lib",
    "/proc/1",
    "/dev/shm/a",
    "/sys/a",
    "/usr/src/a",
    "/etc/a",
    "/tmp/a",
    "/root/a",
    "/run/media/a",

    "/opt/belljar",
    "/opt/belljar/a",
    "/home/user",
    "/home/user/a",
    "/workspace",
    "/workspace/a",
    "/var/tmp/a",
    "/var/lib/dpkg/a",
    "/boot/a",
    "/bin/a",
    "/sbin/a",
    "/lib/a",
    "/lib32/a",
    "/lib64/a",
    "/libx32/a",
    "/media",
    "/mnt",
    "/srv",
    "/var/backups/a",
    "/var/cache/a",
    "/var/local/a",
    "/var/lock/a",
    "/var/log/a",
    "/var/mail/a",
    "/var/opt/a",
    "/var/run/a",
    "/var/spool/a",
    "/var/lib/apt/a",
    "/var/lib/misc/a",
    "/var/lib/python/a",
  ])("is /workspace where something of a template lies: %s", (path) => expect(place(path)).toBe(INSIDE.workspace));

  it("is /workspace for everybody but the local user", () => {
    expect(place("/srv/a", { id: "ada", name: "ada" })).toBe(INSIDE.workspace);
    expect(place("/srv/a", { ...LOCAL, grants: { workspaces: [{ path: "/srv/a", mode: "copy" }] } })).toBe(INSIDE.workspace);
    expect(place("/srv/a", { ...LOCAL, project: { folder: "/srv/a", sees: "own" } })).toBe("/srv/a");
  });

  it("is named by the person's spelling, where that is free too and leads into nothing of the folder", () => {
    const named = (path: string, spelling: string, principal = LOCAL) => spellingInside(principal, { path, mode: "copy", spelling });
    expect(named("/data/a", "/home/ada/a")).toBe("/home/ada/a");
    expect(named("/tmp/a", "/home/ada/a")).toBe("/home/ada/a");
    for (const taken of ["/tmp/a", "/home", "/usr/src/a", "/home/user/a", "/workspace", "/etc/a", "/bin/a", "/data/a/link", "/data"])
      expect(named("/data/a", taken), taken).toBe("/data/a");
    for (const principal of [
      { id: "ada", name: "ada" },
      { ...LOCAL, grants: {} },
    ])
      expect(named("/data/a", "/home/ada/a", principal)).toBe(INSIDE.workspace);
  });

  it("is where commands start", () => {
    const inside = { env: { A: "b" }, home: "/home/user", workspace: "/home/user", cwd: "/home/user" };
    expect(withWorkspace(inside, LOCAL, undefined)).toBe(inside);
    expect(withWorkspace(inside, LOCAL, { path: "/srv/a", mode: "rw" })).toEqual({ ...inside, workspace: "/srv/a", cwd: "/srv/a" });
    expect(withWorkspace(inside, LOCAL, { path: "/srv/a", mode: "rw", spelling: "/home/ada/a" })).toEqual({
      ...inside,
      workspace: "/srv/a",
      cwd: "/home/ada/a",
      env: { A: "b", PWD: "/home/ada/a" },
    });
  });
});
