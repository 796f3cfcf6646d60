import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { HubServer } from "../hub-server.ts";
import { readHubSettings } from "../hub-settings.ts";
import { approveInHome, FileApprovals, waitingInHome } from "./file-approvals.ts";
import { NamedFile } from "./named-file.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "bj-named-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const server = (command: string, more: object = {}): HubServer => ({
  name: command,
  target: { kind: "stdio", command, args: [], env: {} } as unknown as HubServer["target"],
  settings: readHubSettings({ command, ...more }, { file: "f", name: command }),
});
const contentOf = (...servers: readonly HubServer[]) => ({ servers, unusable: [] });
const namesOf = ({ content }: NamedFile) => [content.servers, content.waiting ?? []].map((all) => all.map(({ name }) => name));

/** As a process has it. `shown`: folders that a sandbox may write. */
async function open(content: ReturnType<typeof contentOf>, shown: readonly string[] = []): Promise<NamedFile> {
  const isShown = async (own: readonly string[]): Promise<boolean> => [...own, ...shown].includes("/shown");
  const file = new NamedFile({ name: "f", approvals: new FileApprovals(folder, "f"), isShown, redact: (text) => text });
  await file.take(content);
  return file;
}

it("has what the file said while no sandbox could write it stay approved when one can", async () => {
  await open(contentOf(server("a")));
  expect(namesOf(await open(contentOf(server("a"), server("b")), ["/shown"]))).toEqual([["a"], ["b"]]);
});

it("takes a file that its own server could write for written by that, also once the server is gone from it", async () => {
  const writer = server("w", { mounts: [{ host: "/shown", mode: "rw" }] });
  expect(namesOf(await open(contentOf(writer)))).toEqual([[], ["w"]]);
  expect(namesOf(await open(contentOf(server("evil"))))).toEqual([[], ["evil"]]);
});

it("has an entry wait that left the file and came back, or that is another one of the name", async () => {
  await open(contentOf(server("a"), server("b")));
  await open(contentOf(server("b")), ["/shown"]);
  expect(namesOf(await open(contentOf(server("a"), server("b"))))).toEqual([["b"], ["a"]]);
  expect(namesOf(await open(contentOf(server("b", { network: "all" }))))).toEqual([[], ["b"]]);
});

it("approves what was shown alone, for a process that runs and for later ones", async () => {
  const file = await open(contentOf(server("a")), ["/shown"]);
  await expect(file.approve(server("a"), "another")).rejects.toMatchObject({ code: "MCP_SERVER_CHANGED" });
  await approveInHome(folder, { name: "a", digest: "another" });
  expect(await file.takeApproved()).toBe(false);
  const [waiting] = waitingInHome(folder);
  expect(waiting).toMatchObject({ name: "a", runs: "a", isolation: "sandbox" });
  if (waiting) await approveInHome(folder, waiting);
  expect([await file.takeApproved(), namesOf(file), waitingInHome(folder)]).toEqual([true, [["a"], []], []]);
  expect(namesOf(await open(contentOf(server("a"))))).toEqual([["a"], []]);
});

it("trusts no file whose record is damaged", async () => {
  await open(contentOf(server("a")));
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), "{");
  expect(namesOf(await open(contentOf(server("a"))))).toEqual([[], ["a"]]);
});
