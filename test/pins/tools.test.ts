import { expect, it } from "vitest";
import { describeTool } from "../../src/catalog/description.ts";
import { loadConfig } from "../../src/config/config.ts";
import { builtinTools } from "../../src/tools/builtin-tools.ts";

const config = loadConfig({ env: { BELLJAR_HOME: "/nonexistent" } });
const interpreter = {
  runProgram: () => Promise.reject(new Error("no program is run here")),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
const tools = builtinTools({ interpreter, config }).map(describeTool);

/** Models and their prompts know these names and arguments. */
it("keeps every built-in tool with its arguments and results", () => {
  const keys = (schema: unknown) => Object.keys((schema as { properties?: object } | undefined)?.properties ?? {}).join(" ");
  expect(tools.map(({ name, inputSchema, outputSchema }) => `${name}: ${keys(inputSchema)} -> ${keys(outputSchema)}`))
    .toMatchInlineSnapshot(`
    [
      "execute_code: language lang entrypoint_code entrypoint_filename additional_files snippet_name sandbox -> status stdout stderr exit_code duration_ms truncated",
      "run_command: command cwd env timeout_ms sandbox -> stdout stderr exit_code signal duration_ms timed_out truncated",
      "read_file: path start_line end_line line_numbers encoding sandbox -> path content encoding size start_line end_line truncated",
      "write_file: path content encoding mode sandbox -> path size",
      "list_directory: path depth sandbox -> path entries truncated",
    ]
  `);
});

/** What clients check arguments and results against: a bound, a type or a required field that changes breaks callers. */
it("keeps every built-in tool's schemas and hints", async () => {
  const pinned = Object.fromEntries(
    tools.map(({ name, inputSchema, outputSchema, annotations }) => [name, { annotations, inputSchema, outputSchema }]),
  );
  await expect(`${JSON.stringify(pinned, null, 2)}\n`).toMatchFileSnapshot("./tool-schemas.snap");
});
