import { expect, it } from "vitest";
import { isAddress, parseAuthority, toAuthority, toCanonicalHost, toIpv4, toIpv6Groups } from "./host-name.ts";

it.each([
  ["GOOD.test.", "good.test"],
  ["[::1]", "::1"],
  ["0::1", "::1"],
  ["0x7f.1", "127.0.0.1"],
  ["[::ffff:1.2.3.4]", "1.2.3.4"],
  ["::ffff:0:1.2.3.4", "::ffff:0:102:304"],
  ["1::ffff:102:304", "1::ffff:102:304"],
  ["2001:DB8:0:0::1", "2001:db8::1"],
  ["bücher.test", "xn--bcher-kva.test"],
  ["_dmarc.good.test", "_dmarc.good.test"],
])("spells %s as %s", (text, canonical) => {
  expect(toCanonicalHost(text)).toBe(canonical);
});

it.each([
  "[::1",
  "::1]",
  "[good.test]",
  "[",
  "]",
  "[]",
  "",
  "a..b",
  "good.test:443",
  "a b",
  "-a.test",
  "a-.test",
  "fe80::1%eth0",
  "a/b",
  "a%2eb",
  "1.2.3.4.5",
  "a\0b",
])("takes %j for no host", (text) => {
  expect(toCanonicalHost(text)).toBeUndefined();
});

it("holds a name to 253 characters and a label to 63", () => {
  const label = "a".repeat(63);
  const longest = `${label}.${label}.${label}.${"a".repeat(61)}`;
  expect([longest, `${longest}.`, label].map(toCanonicalHost)).toEqual([longest, longest, label]);
  expect([`${longest}a`, `${longest}a.`, `${label}a`].map(toCanonicalHost)).toEqual([undefined, undefined, undefined]);
});

it.each([
  ["good.test", undefined, undefined],
  ["good.test", 443, { host: "good.test", port: 443 }],
  ["GOOD.test:1", 443, { host: "good.test", port: 1 }],
  ["good.test:65535", undefined, { host: "good.test", port: 65_535 }],
  ["[::1]:80", undefined, { host: "::1", port: 80 }],
  ["[::1]", 80, { host: "::1", port: 80 }],
  ["good.test:0", 443, undefined],
  ["good.test:65536", 443, undefined],
  ["good.test:100000", 443, undefined],
  ["good.test:", 443, undefined],
  ["good.test:a", 443, undefined],
  ["::1:80", 443, undefined],
  [":80", 443, undefined],
  ["a@good.test:80", 443, undefined],
  ["", 443, undefined],
] as const)("reads the authority %j with the default port %s", (text, port, place) => {
  expect(parseAuthority(text, port)).toEqual(place);
});

it("writes an authority, with brackets around an IPv6 address", () => {
  expect([toAuthority("good.test", 80), toAuthority("1.2.3.4", 80), toAuthority("::1", 80)]).toEqual([
    "good.test:80",
    "1.2.3.4:80",
    "[::1]:80",
  ]);
  expect(["1.2.3.4", "::1", "good.test", "[::1]", "1.2.3"].map(isAddress)).toEqual([true, true, false, false, false]);
});

it.each([
  ["::", [0, 0, 0, 0, 0, 0, 0, 0]],
  ["::1", [0, 0, 0, 0, 0, 0, 0, 1]],
  ["fe80::", [0xfe80, 0, 0, 0, 0, 0, 0, 0]],
  ["1:2:3:4:5:6:7:8", [1, 2, 3, 4, 5, 6, 7, 8]],
  ["1:2::7:8", [1, 2, 0, 0, 0, 0, 7, 8]],
  ["64:ff9b::10.1.2.3", [0x64, 0xff9b, 0, 0, 0, 0, 0x0a01, 0x0203]],
])("reads the groups of %s", (address, groups) => {
  expect(toIpv6Groups(address)).toEqual(groups);
});

it("reads an IPv4 address from two groups", () => {
  expect([toIpv4(0x0a01, 0x02ff), toIpv4(0xffff, 0)]).toEqual(["10.1.2.255", "255.255.0.0"]);
});
