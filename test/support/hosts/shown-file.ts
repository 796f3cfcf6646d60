import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { CLI, openTestHome } from "../served-home.ts";
import type { Host, StdioServer } from "./host.ts";
import { HOSTS } from "./hosts.ts";
import { installHosts } from "./installed-hosts.ts";
import { LONG_FILE, makeProject } from "./job-project.ts";
import { runHost } from "./run-host.ts";
import { openScriptedModel } from "./scripted-model.ts";
import { createJob } from "./small-job.ts";

export interface ShownFile {
  readonly host: string;
  /** Characters that the model is shown for each of the file's own. */
  readonly ratio: number;
}

/** Reads a file of 300 lines in each host that can be had, as the first call: its result says where the files are too. */
export async function showFile(): Promise<readonly ShownFile[]> {
  const whyNot = await installHosts();
  const shown: ShownFile[] = [];
  for (const host of HOSTS.filter((one) => whyNot(one) === undefined)) {
    shown.push({ host: host.title, ratio: await inPlace((place) => readInHost(host, place)) });
  }
  return [...shown, { host: "LangChain", ratio: await inPlace(readInLangChain) }];
}

interface Place {
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  readonly server: StdioServer;
}

async function inPlace(read: (place: Place) => Promise<number>): Promise<number> {
  await using home = await openTestHome();
  const project = join(home.path, "project");
  await Promise.all([mkdir(join(home.path, "tmp")), makeProject(project)]);
  const server = { command: process.execPath, args: [CLI, "mcp", "--workspace", project] };
  return (await read({ home: home.path, project, env: home.env, server })) / LONG_FILE.length;
}

const READ = { path: "parts.ts" };

async function readInHost(host: Host, place: Place): Promise<number> {
  const job = createJob([{ name: "read", call: () => ["read_file", READ] }]);
  await using model = await openScriptedModel(host.face, (prompt) => job.answer(prompt));
  await runHost(host, { ...place, modelUrl: model.url });
  return countCharacters(host.title, job.shown.get("read")?.texts ?? []);
}

async function readInLangChain({ env, server }: Place): Promise<number> {
  const belljar = { transport: "stdio" as const, command: server.command, args: [...server.args], env: { ...env } };
  const client = new MultiServerMCPClient({ mcpServers: { belljar }, throwOnLoadError: true });
  try {
    const tool = (await client.getTools()).find(({ name }) => name === "read_file");
    const message = (await tool?.invoke({ type: "tool_call", id: "call_1", name: "read_file", args: READ })) as { content: unknown };
    const parts = Array.isArray(message.content) ? (message.content as { text?: string }[]) : [{ text: String(message.content) }];
    return countCharacters(
      "LangChain",
      parts.map(({ text = "" }) => text),
    );
  } finally {
    await client.close();
  }
}

function countCharacters(host: string, texts: readonly string[]): number {
  const text = texts.join("");
  if (!text.includes(LONG_FILE)) throw new Error(`${host} shows another text than the file's: ${text.slice(0, 300)}`);
  return text.length;
}
