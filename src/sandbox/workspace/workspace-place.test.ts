import { describe, expect, it } from "vitest";
import { INSIDE, LOCAL } from "../sandbox.ts";
import { placeOfWorkspace, withWorkspace } from "./workspace-place.ts";

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
    "/lib64/a",
  ])("is /workspace where something of a template lies: %s", (path) => expect(place(path)).toBe(INSIDE.workspace));

  it("is /workspace for everybody but the local user", () => {
    expect(place("/srv/a", { id: "ada", name: "ada" })).toBe(INSIDE.workspace);
    expect(place("/srv/a", { ...LOCAL, grants: { workspaces: [{ path: "/srv/a", mode: "copy" }] } })).toBe(INSIDE.workspace);
    expect(place("/srv/a", { ...LOCAL, project: { folder: "/srv/a", sees: "own" } })).toBe("/srv/a");
  });

  it("is where commands start", () => {
    const inside = { env: { A: "b" }, home: "/home/user", workspace: "/home/user", cwd: "/home/user" };
    expect(withWorkspace(inside, LOCAL, undefined)).toBe(inside);
    expect(withWorkspace(inside, LOCAL, { path: "/srv/a", mode: "rw" })).toEqual({ ...inside, workspace: "/srv/a", cwd: "/srv/a" });
  });
});
