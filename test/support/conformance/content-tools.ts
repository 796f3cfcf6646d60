import { setTimeout as delay } from "node:timers/promises";
import type { ToolResult } from "../../../src/catalog/tool.ts";
import { textResult } from "../../../src/catalog/tool-result.ts";
import type { JsonSchema } from "../../../src/catalog/tool-schema.ts";
import type { FixtureTool } from "./fixture-catalog.ts";

/** One red pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/** Silence without a sample. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/** What the suite names between two messages. */
const PAUSE_MS = 50;

const NESTED_SCHEMA: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: {
    address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's word
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

function shown(content: ToolResult["content"]): ToolResult {
  return { value: null, content };
}

export const CONTENT_TOOLS: readonly FixtureTool[] = [
  { name: "test_simple_text", run: async () => textResult("This is a simple text response for testing.") },
  { name: "test_image_content", run: async () => shown([{ type: "image", data: PNG, mimeType: "image/png" }]) },
  { name: "test_audio_content", run: async () => shown([{ type: "audio", data: WAV, mimeType: "audio/wav" }]) },
  {
    name: "test_embedded_resource",
    run: async () =>
      shown([
        {
          type: "resource",
          resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." },
        },
      ]),
  },
  {
    name: "test_multiple_content_types",
    run: async () =>
      shown([
        { type: "text", text: "Multiple content types test:" },
        { type: "image", data: PNG, mimeType: "image/png" },
        {
          type: "resource",
          resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data","value":123}' },
        },
      ]),
  },
  {
    name: "test_error_handling",
    run: async () => ({ ...textResult("This tool intentionally returns an error for testing"), isError: true }),
  },
  {
    name: "test_tool_with_logging",
    async run(context) {
      for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        context.log("info", line);
        await delay(PAUSE_MS);
      }
      return textResult("done");
    },
  },
  {
    name: "test_tool_with_progress",
    async run(context) {
      for (const part of [0, 50, 100]) {
        context.progress({ progress: part, total: 100 });
        await delay(PAUSE_MS);
      }
      return textResult("done");
    },
  },
  {
    name: "test_logging_tool",
    async run(context) {
      context.log("info", "A line that nobody asked for");
      return textResult("done");
    },
  },
  { name: "json_schema_2020_12_tool", schema: NESTED_SCHEMA, run: async () => textResult("ok") },
];
