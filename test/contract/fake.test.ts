import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import { runtimeContract } from "./runtime-contract.ts";

runtimeContract(async () => fakeRuntime(), {
  name: "fake",
  terminals: false,
  keeps: false,
  stands: false,
  pause: true,
  sleep: false,
  stop: true,
  states: false,
  resourceUsage: false,
  isolation: false,
  twoUsers: false,
  ownUser: true,
});
