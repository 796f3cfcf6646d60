import type { HostIsolation } from "../../src/sandbox/runtimes.ts";

/** What a host says that can do everything, without any check. */
export const ABLE_HOST: HostIsolation = {
  runtime: "namespace",
  available: true,
  checks: [],
  limits: [],
  users: "two",
  terminals: true,
  pause: true,
  sleep: true,
  stop: true,
  states: "clone",
};
