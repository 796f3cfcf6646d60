import { expect, it } from "vitest";
import { commandLine, FLAGS, OWN_FLAGS } from "./flags.ts";

const nameOf = (flag: string): string => flag.split("=", 1)[0] ?? "";

it("has a reason for each flag that Chromium is started with", () => {
  const started = commandLine({ profile: "/p", hostName: "h", network: "sandbox" }).map(nameOf);
  const told = [...FLAGS, ...OWN_FLAGS].map(({ flag }) => nameOf(flag));
  expect(started.toSorted()).toEqual([...told, "--disable-features", "--enable-features"].toSorted());
  expect([...FLAGS, ...OWN_FLAGS].filter(({ reason }) => reason === "")).toEqual([]);
});
