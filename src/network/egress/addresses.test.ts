import { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { kindOfAddress, ownAddresses } from "./addresses.ts";

const NONE = new Set<string>();

it.each(["1.1.1.1", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::5db8:d70e"])(
  "takes %s for public",
  (address) => {
    expect(kindOfAddress(address, NONE)).toBe("public");
  },
);

it.each([
  "127.0.0.1",
  "127.255.255.254",
  "10.1.2.3",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "::1",
  "fd12:3456::1",
  "64:ff9b::7f00:1",
  "198.18.0.1",
  "198.19.255.255",
  "192.0.2.1",
  "198.51.100.7",
  "203.0.113.255",
  "2001:db8::1",
  "3fff:fff::1",
  "64:ff9b::c612:1",
])("takes %s for private", (address) => {
  expect(kindOfAddress(address, NONE)).toBe("private");
});

it.each([
  "0.0.0.0",
  "169.254.169.254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "fe80::1",
  "fec0::1",
  "ff02::1",
  "fd00:ec2::254",
  "2001:0:1::1",
  "2002:7f00:1::1",
  "::7f00:1",
  "::ffff:0:7f00:1",
  "64:ff9b:1::7f00:1",
  "64:ff9b::a9fe:a9fe",
  "100::1",
])("takes %s for closed", (address) => {
  expect(kindOfAddress(address, NONE)).toBe("closed");
});

it("treats every address of this machine as private", () => {
  expect(kindOfAddress("93.184.215.14", new Set(["93.184.215.14"]))).toBe("private");
  const addresses = Object.values(networkInterfaces()).flatMap((rows) => rows?.map(({ address }) => address) ?? []);
  expect([...ownAddresses()]).toEqual(expect.arrayContaining(addresses.filter((address) => !address.includes("%"))));
});
