import { join } from "node:path";
import { anthropic } from "./faces/anthropic.ts";
import { gemini } from "./faces/gemini.ts";
import { openaiChat } from "./faces/openai-chat.ts";
import { openaiResponses } from "./faces/openai-responses.ts";
import type { Host } from "./host.ts";
import { CPU, TASK } from "./host.ts";

const claudeCode: Host = {
  title: "Claude Code",
  face: anthropic,
  keepsBack: true,
  program: `@anthropic-ai/claude-code-linux-${CPU}/claude`,
  launch: ({ home, modelUrl, server }) => ({
    args: ["-p", TASK, "--mcp-config", join(home, "mcp.json"), "--strict-mcp-config", "--allowedTools", "mcp__belljar"],
    env: {
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: "scripted",
      ANTHROPIC_MODEL: "claude-opus-4-8",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
    settings: { "mcp.json": JSON.stringify({ mcpServers: { belljar: { type: "stdio", ...server } } }) },
  }),
};

const codex: Host = {
  title: "Codex",
  face: openaiResponses,
  keepsBack: true,
  program: `codex-linux-${CPU}/vendor/${CPU === "x64" ? "x86_64" : "aarch64"}-unknown-linux-musl/bin/codex`,
  unwrap: (text) => text.replace(/^Wall time: \S+ seconds\nOutput:$/, ""),
  launch: ({ home, modelUrl, server }) => ({
    args: ["exec", "--dangerously-bypass-approvals-and-sandbox", TASK],
    env: { CODEX_HOME: join(home, ".codex"), SCRIPTED_KEY: "scripted" },
    settings: {
      ".codex/config.toml": [
        'model = "gpt-5.5"',
        'model_provider = "scripted"',
        "check_for_update_on_startup = false",
        "analytics.enabled = false",
        "[model_providers.scripted]",
        'name = "scripted"',
        `base_url = ${JSON.stringify(`${modelUrl}/v1`)}`,
        'env_key = "SCRIPTED_KEY"',
        'wire_api = "responses"',
        "[mcp_servers.belljar]",
        `command = ${JSON.stringify(server.command)}`,
        `args = ${JSON.stringify(server.args)}`,
        "startup_timeout_sec = 60",
      ].join("\n"),
    },
  }),
};

const geminiCli: Host = {
  title: "Gemini CLI",
  face: gemini,
  program: "@google/gemini-cli/bundle/gemini.js",
  adds: "wait_for_previous",
  unwrap: (text) => text.replaceAll(/<untrusted_context>\n|\n<\/untrusted_context>/g, ""),
  launch: ({ modelUrl, server }) => ({
    args: ["-p", TASK, "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"],
    env: { GEMINI_API_KEY: "scripted", GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_CLI_NO_RELAUNCH: "1" },
    settings: {
      ".gemini/settings.json": JSON.stringify({
        mcpServers: { belljar: { ...server, trust: true } },
        security: { auth: { selectedType: "gemini-api-key" } },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      }),
    },
  }),
};

const opencode: Host = {
  title: "opencode",
  face: openaiChat,
  program: `opencode-linux-${CPU}-baseline/bin/opencode`,
  launch: ({ home, modelUrl, server }) => ({
    args: ["run", "-m", "scripted/scripted", TASK],
    env: {
      OPENCODE_CONFIG: join(home, "opencode.json"),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    },
    settings: {
      "opencode.json": JSON.stringify({
        autoupdate: false,
        share: "disabled",
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${modelUrl}/v1`, apiKey: "scripted" },
            models: {
              scripted: {
                attachment: true,
                tool_call: true,
                modalities: { input: ["text", "image"], output: ["text"] },
                limit: { context: 200_000, output: 8_000 },
              },
            },
          },
        },
        mcp: { belljar: { type: "local", command: [server.command, ...server.args], enabled: true, timeout: 60_000 } },
      }),
    },
  }),
};

export const HOSTS: readonly Host[] = [claudeCode, codex, geminiCli, opencode];
