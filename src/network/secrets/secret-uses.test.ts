import { expect, it } from "vitest";
import { parseSecretHost, parseSecretUses } from "./secret-uses.ts";

const invalid = (message: RegExp) =>
  expect.objectContaining({ code: "ARGUMENTS_INVALID", message: expect.stringMatching(message) as string }) as Error;

it("writes hosts in canonical form, without duplicates", () => {
  const uses = parseSecretUses({
    KEY: { secret: "a", hosts: ["API.example.com.", "api.example.com:443", "bücher.example", "[::1]:8443"] },
  });
  expect(uses).toEqual({ KEY: { secret: "a", hosts: ["api.example.com", "xn--bcher-kva.example", "[::1]:8443"] } });
});

it.each([
  ["api.example.com", "api.example.com", 443],
  ["127.0.0.1:8443", "127.0.0.1", 8443],
  ["[2001:db8::1]", "2001:db8::1", 443],
])("reads %s", (text, host, port) => {
  expect(parseSecretHost(text)).toEqual({ host, port });
});

it("shows the beginning of a host that it refuses, and not more", () => {
  expect(() => parseSecretHost(`*${"a".repeat(1_000)}`)).toThrow(invalid(/^"\*a{99}" is not a host/));
});

it.each(["", "*.example.com", "https://api.example.com", "api.example.com/", "api.example.com:0", "a:70000", "a b", "user@host", "a\r\nb"])(
  "refuses the host %j",
  (host) => {
    expect(() => parseSecretUses({ KEY: { secret: "a", hosts: [host] } })).toThrow(invalid(/exact name or address/));
  },
);

it("refuses an invalid variable, secret name or list of hosts", () => {
  expect(() => parseSecretUses({ "A=B": { secret: "a", hosts: ["a.example"] } })).toThrow(invalid(/variable/));
  expect(() => parseSecretUses({ A: { secret: "../a", hosts: ["a.example"] } })).toThrow(invalid(/name/));
  expect(() => parseSecretUses({ A: { secret: "a", hosts: [] } })).toThrow(invalid(/1 to 32 hosts/));
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`A${index}`, { secret: "a", hosts: ["a.example"] }]));
  expect(() => parseSecretUses(many)).toThrow(invalid(/at most 64/));
  const { A64: _, ...most } = many;
  expect(Object.keys(parseSecretUses(most))).toHaveLength(64);
  const hosts = Array.from({ length: 33 }, (_, index) => `h${index}.example`);
  expect(() => parseSecretUses({ A: { secret: "a", hosts } })).toThrow(invalid(/1 to 32 hosts/));
  expect(parseSecretUses({ A: { secret: "a", hosts: hosts.slice(1) } })["A"]?.hosts).toHaveLength(32);
});
