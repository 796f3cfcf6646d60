import { describe, expect, it } from "vitest";
import { hostChecks } from "./host-checks.ts";
import type { Host } from "./host.ts";

const GOOD: Host = {
  platform: "linux",
  isRoot: false,
  hasNativeBinary: true,
  inContainer: false,
  userNamespaces: { max: 28_633, unprivileged: undefined, apparmorRestricted: undefined },
  hasNewuidmap: true,
};

function problems(facts: Partial<Host>) {
  return hostChecks({ ...GOOD, ...facts }).filter(({ state }) => state !== "enforced");
}

describe("hostChecks", () => {
  it("finds nothing wrong with a good host", () => {
    expect(problems({})).toEqual([]);
  });

  it("explains how to build a missing native binary", () => {
    expect(problems({ hasNativeBinary: false })).toMatchObject([{ id: "native-binary", remedy: expect.stringContaining("npm run build") }]);
  });

  it("names Ubuntu's AppArmor rule, and a profile for the binary only", () => {
    const [check] = problems({ userNamespaces: { ...GOOD.userNamespaces, apparmorRestricted: 1 } });
    expect(check).toMatchObject({ id: "user-namespace", state: "absent" });
    expect(check?.remedy).toContain("/etc/apparmor.d/belljar");
    expect(check?.remedy).toContain("kernel.apparmor_restrict_unprivileged_userns=0");
  });

  it("names Debian's setting, and in a container its host", () => {
    const userNamespaces = { ...GOOD.userNamespaces, unprivileged: 0 };
    expect(problems({ userNamespaces })[0]?.remedy).toContain("sysctl -w kernel.unprivileged_userns_clone=1;");
    expect(problems({ userNamespaces, inContainer: true })[0]?.remedy).toContain("on the container's host");
  });

  it("names the setting of a host without user namespaces", () => {
    expect(problems({ userNamespaces: { ...GOOD.userNamespaces, max: 0 } })[0]?.remedy).toContain("user.max_user_namespaces");
  });

  it("names the options that a container must be started with", () => {
    expect(problems({ inContainer: true })).toMatchObject([{ id: "container", remedy: expect.stringContaining("--security-opt") }]);
  });

  it("checks no user namespaces of ordinary users for root", () => {
    expect(problems({ isRoot: true, hasNewuidmap: false, userNamespaces: { max: 0, unprivileged: 0, apparmorRestricted: 1 } })).toEqual([]);
  });

  it("names the packages and ranges for two ids", () => {
    expect(problems({ hasNewuidmap: false })[0]?.remedy).toContain("usermod --add-subuids");
  });

  it("sends macOS to a Linux machine and BELLJAR_URL", () => {
    const [check] = problems({ platform: "darwin" });
    expect(check?.detail).toContain("macOS");
    expect(check?.remedy).toContain("BELLJAR_URL");
  });
});
