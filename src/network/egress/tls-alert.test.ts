import { expect, it } from "vitest";
import { tlsAlert } from "./tls-alert.ts";

it.each([
  ["access_denied", 49],
  ["unrecognized_name", 112],
  ["unexpected_message", 10],
  ["internal_error", 80],
] as const)("sends %s as the fatal alert %i of RFC 8446", (name, code) => {
  expect([...tlsAlert(name)]).toEqual([21, 3, 3, 0, 2, 2, code]);
});
