import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { PortUrls } from "../ports/port-urls.ts";
import { SANDBOX } from "./computer-arguments.ts";
import { DISPLAY, type DesktopFacts, endDesktop, ensureDesktop, PORTS, SIZE } from "./display.ts";
import { type DesktopLinks, toDesktopLinks } from "./desktop-links.ts";

const { width, height } = SIZE;

export function createDesktopStart(urls: PortUrls | undefined): Tool {
  return defineDataTool({
    name: "desktop_start",
    title: "Start a desktop",
    description: [
      "Starts a desktop (an X display with a window manager) in your sandbox for the computer tools, or answers the one that runs.",
      "Start programs on it with run_background and the variable DISPLAY that it answers. It ends with the sandbox's run.",
      "Give the user view_url to watch it, and control_url to use its mouse and keyboard too; path_urls are the same where names below localhost do not resolve.",
    ].join("\n"),
    toolset: "desktop",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({
      width: z.number().int().min(width.min).max(width.max).optional().describe(`Default ${width.default}`),
      height: z.number().int().min(height.min).max(height.max).optional().describe(`Default ${height.default}`),
      restart: z.boolean().optional().describe("End the one that runs first, as for another size; its programs lose it"),
      ...SANDBOX,
    }),
    output: z.object({
      display: z.string(),
      width: z.number().int().describe("Of the one that runs, whatever was asked for"),
      height: z.number().int(),
      started: z.boolean().describe("false: it ran already"),
      view_url: z.string().nullable().describe("null: this process serves no ports"),
      control_url: z.string().nullable(),
      path_urls: z.object({ view: z.string(), control: z.string() }).nullable(),
    }),
    async run(context, { width: wide = width.default, height: high = height.default, restart = false, sandbox: id }) {
      const sandbox = await context.sandbox(id);
      if (restart) await endDesktop(sandbox, context.signal);
      const desktop = await ensureDesktop(sandbox, { width: wide, height: high }, context.signal);
      const links = urls && (await makeLinks(sandbox, desktop, urls));
      return dataResult({
        display: DISPLAY,
        width: desktop.width,
        height: desktop.height,
        started: desktop.started,
        view_url: links?.view.url ?? null,
        control_url: links?.control.url ?? null,
        path_urls: links ? { view: links.view.pathUrl, control: links.control.pathUrl } : null,
      });
    },
  });
}

async function makeLinks(
  sandbox: Sandbox,
  { view, control }: DesktopFacts,
  urls: PortUrls,
): Promise<Record<keyof typeof PORTS, DesktopLinks>> {
  const link = async (port: number, key: string, isViewOnly: boolean): Promise<DesktopLinks> =>
    toDesktopLinks(await urls(await sandbox.registerPort(port, "token")), { key, isViewOnly });
  return { view: await link(PORTS.view, view, true), control: await link(PORTS.control, control, false) };
}
