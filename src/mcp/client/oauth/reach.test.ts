import { expect, it } from "vitest";
import { isLoopbackUrl, mayName, reachOf, reachOfHost } from "./reach.ts";

it.each([
  ["127.0.0.1", "loopback"],
  ["127.9.9.9", "loopback"],
  ["::1", "loopback"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["10.1.2.3", "private"],
  ["172.31.0.1", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["fd12::1", "private"],
  ["::ffff:10.0.0.1", "private"],
  ["64:ff9b::a00:1", "private"],
  ["169.254.169.254", "never"],
  ["::ffff:169.254.169.254", "never"],
  ["fe80::1%eth0", "never"],
  ["0.0.0.0", "never"],
  ["::", "never"],
  ["224.0.0.1", "never"],
  ["fd00:ec2::254", "never"],
  ["100.100.100.200", "never"],
  ["93.184.216.34", "public"],
  ["2606:4700::1111", "public"],
  ["172.32.0.1", "public"],
])("%s is %s", (address, reach) => {
  expect(reachOf(address)).toBe(reach);
});

it("lets a server name what is as far as itself, or farther", () => {
  const named = ["127.0.0.1", "10.0.0.1", "93.184.216.34", "169.254.169.254"];
  expect(named.map((address) => mayName("public", address))).toEqual([false, false, true, false]);
  expect(named.map((address) => mayName("private", address))).toEqual([false, true, true, false]);
  expect(named.map((address) => mayName("loopback", address))).toEqual([true, true, true, false]);
  expect(mayName("never", "93.184.216.34")).toBe(false);
});

it.each([
  ["http://localhost:1/", true],
  ["http://a.localhost/", true],
  ["http://127.0.0.1/", true],
  ["http://[::1]/", true],
  ["http://2130706433/", true],
  ["http://localhost.evil.example/", false],
  ["http://127.0.0.1.evil.example/", false],
  ["http://10.0.0.1/", false],
])("says whether %s is this machine", (url, isIt) => {
  expect(isLoopbackUrl(new URL(url))).toBe(isIt);
});

it("finds the reach of a name by its addresses", async () => {
  expect(await reachOfHost(new URL("http://localhost/"))).toBe("loopback");
  expect(await reachOfHost(new URL("http://[fd12::1]/"))).toBe("private");
});
