import { expect, it } from "vitest";
import { describeTool } from "../../src/catalog/description.ts";
import { toFacts } from "../../src/catalog/late-tools.ts";
import { readToolFacts } from "../../src/cli/compose/tool-facts.ts";
import { loadConfig } from "../../src/config/config.ts";
import { BROWSER_II } from "../../src/tools/toolsets.ts";
import { builtinTools, otherBuiltinTools } from "../../src/tools/builtin-tools.ts";
import { LANGUAGES } from "../../src/interpreter/language.ts";
import { createShellSessions } from "../../src/interpreter/lasting/shell-sessions.ts";
import { createNoSandboxes } from "../support/no-sandboxes.ts";
import { createTestTexts } from "../support/test-texts.ts";
import { LateCommands } from "../../src/tools/shell/late-commands.ts";

const config = loadConfig({ env: { BELLJAR_HOME: "/nonexistent" } });
const interpreter = {
  languages: LANGUAGES,
  runProgram: () => Promise.reject(new Error("no program is run here")),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};
const search = { search: () => Promise.reject(new Error("nothing is searched here")) };
const shells = createShellSessions(config);
const texts = createTestTexts();
const tools = [
  ...builtinTools({
    interpreter,
    sandboxes: createNoSandboxes(),
    shells,
    late: new LateCommands(),
    texts,
    web: { search },
    config,
  }),
  ...otherBuiltinTools(),
];
const shown = tools.map((tool) => ({ ...describeTool(tool), value: tool.value?.schema }));

/** Models and their prompts know these names and arguments. */
it("keeps every built-in tool with its arguments and results", () => {
  const keys = (schema: unknown) => Object.keys((schema as { properties?: object } | undefined)?.properties ?? {}).join(" ");
  const answer = ({ outputSchema, value }: (typeof shown)[number]) => (outputSchema ? `data ${keys(outputSchema)}` : `text ${keys(value)}`);
  expect(shown.map((tool) => `${tool.name}: ${keys(tool.inputSchema)} -> ${answer(tool)}`)).toMatchInlineSnapshot(`
    [
      "execute_code: language lang entrypoint_code entrypoint_filename additional_files snippet_name max_bytes raw sandbox -> text status stdout stderr exit_code duration_ms truncated files",
      "run_code: code lang context_id env timeout_ms max_bytes raw sandbox -> text stdout stderr results error execution_count context_id exit_code duration_ms timed_out fresh truncated",
      "contexts: action context_id lang cwd sandbox -> data contexts",
      "execute_tools_script: code language describe calls timeout_ms max_bytes -> text code returned signatures stdout stderr calls error",
      "run_command: command cwd env user timeout_ms background session max_bytes raw sandbox -> text stdout stderr exit_code signal duration_ms timed_out process_id truncated",
      "process: action process_id offset wait_ms max_bytes text close sandbox -> text ",
      "shell_run: session command timeout_ms max_bytes raw sandbox -> text session stdout stderr exit_code cwd duration_ms timed_out truncated created ended",
      "run_background: command cwd env user sandbox -> data process_id state exit_code pid",
      "process_list: sandbox -> data processes",
      "process_output: process_id offset max_bytes raw wait_ms sandbox -> text process_id state exit_code pid output offset next_offset total_bytes lost_bytes",
      "process_input: process_id text close sandbox -> data process_id bytes_written closed",
      "process_stop: process_id signal grace_ms sandbox -> data process_id state exit_code pid killed",
      "read_file: path start_line end_line line_numbers encoding page max_bytes sandbox -> text path content encoding size start_line end_line truncated mime_type",
      "write_file: path content encoding mode sandbox -> text path size undo_problem",
      "edit_file: path edits sandbox -> text path replacements size diff truncated undo_problem",
      "apply_patch: patch cwd sandbox -> text files undo_problem",
      "undo_edit: path force sandbox -> text path existed levels_left diff truncated",
      "list_directory: path depth ignore include_ignored max_bytes sandbox -> text path entries truncated",
      "create_directory: path sandbox -> text path created",
      "move_file: source destination overwrite sandbox -> text source destination",
      "delete_file: path recursive sandbox -> text path type undo_problem",
      "file_info: path sandbox -> data path type size mode owner group modified_at links target resolved",
      "search_files: pattern path include_ignored max_bytes sandbox -> text path files truncated",
      "search_content: pattern path include exclude context mode ignore_case literal limit include_ignored max_bytes sandbox -> text mode path matches files truncated",
      "search_code: pattern path language lang include limit include_ignored max_bytes sandbox -> text path matches truncated",
      "sandbox: action id template timeout_s snapshot_id from_id allow -> text ",
      "sandbox_create: template runtime cpu memory_mb timeout_s auto_checkpoint metadata -> data lost id short_id ip created_at",
      "sandbox_exec: id cmd cwd env user timeout_s -> text stdout stderr exit_code signal timed_out truncated",
      "sandbox_read_file: id path -> data content_base64 size",
      "sandbox_write_file: id path content_base64 mode -> data ok",
      "sandbox_run_code: id code lang context_id env timeout_ms -> data stdout stderr results error execution_count context_id exit_code duration_ms timed_out fresh truncated",
      "sandbox_checkpoint: id label -> data checkpoint_id label created_at parent_id before_tool way copied still_ms",
      "sandbox_diff: id from to paths -> text from to changes omitted",
      "sandbox_rollback: id checkpoint_id calls paths -> data checkpoint_id ended lost changed conflicts omitted",
      "sandbox_log: id -> data checkpoints head_id omitted",
      "sandbox_snapshot: id name description whole -> data snapshot_id name description created_at sandbox_id workspace took_in way copied still_ms",
      "sandbox_snapshots: action snapshot_id -> data snapshots omitted",
      "sandbox_fork: id snapshot_id count cpu memory_mb timeout_s metadata -> data lost id short_id ip created_at sandboxes",
      "sandbox_merge: id from_id paths -> data changed conflicts omitted",
      "sandbox_network: allow sandbox -> data allow at_most",
      "sandbox_kill: id -> data ok",
      "sandbox_list: state_filter cursor limit -> data sandboxes next_cursor",
      "template_list:  -> data templates omitted",
      "template_build: name image platform snapshot_id folder debian dockerfile context build_args target cpu memory_mb start_command ready_command ready_port ready_timeout_ms description -> data name description created_at image snapshot_id from folder layers bytes user cwd command start_command is_own is_shared",
      "ports: action port sandbox -> text ",
      "register_port: port sandbox -> data port url path_url listening",
      "list_ports: sandbox -> data ports truncated",
      "read_result: uri offset limit -> text text offset next_offset total_bytes",
      "todo_read: sandbox -> data todos",
      "todo_write: todos sandbox -> data todos",
      "git_status: path sandbox -> text branch commit upstream ahead behind clean entries truncated",
      "git_diff: path staged from to paths context sandbox -> text files patch truncated",
      "git_log: path revision max_count skip author grep since until paths sandbox -> text commits truncated",
      "git_add: path paths all sandbox -> text branch commit upstream ahead behind clean entries truncated",
      "git_commit: path message all amend allow_empty no_verify author_name author_email sandbox -> text commit branch subject author files insertions deletions",
      "git_branch: path action name new_name start force remotes sandbox -> text branches current truncated",
      "git_checkout: path branch create revision paths sandbox -> text branch commit upstream ahead behind clean entries truncated",
      "git_clone: url path branch depth credential timeout_ms sandbox -> text path branch commit url",
      "git_push: path remote branch set_upstream force_with_lease tags credential timeout_ms sandbox -> text remote updates",
      "git_pull: path remote branch strategy credential timeout_ms sandbox -> text before after updated files",
      "npm_install: path packages dev exact clean ignore_scripts timeout_ms sandbox -> text added removed changed duration_ms",
      "npm_run: script args path env timeout_ms sandbox -> text stdout stderr exit_code duration_ms timed_out truncated",
      "npm_test: args path env timeout_ms sandbox -> text stdout stderr exit_code duration_ms timed_out truncated",
      "web_visit: url whole_page max_bytes sandbox -> text url status content_type title content total_bytes next_offset rest_uri incomplete",
      "web_search: query -> text results answer",
      "browser_navigate: url go timeout_ms sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree status",
      "browser_snapshot: ref selector offset max_bytes sandbox -> text url title text",
      "browser_click: ref selector coordinate_x coordinate_y double_click button modifiers sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_type: ref selector coordinate_x coordinate_y text append slowly submit sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_fill_form: fields submit sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_press_key: key sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_select_option: ref selector coordinate_x coordinate_y values sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_hover: ref selector coordinate_x coordinate_y sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_drag: start_ref start_selector coordinate_x_start coordinate_y_start end_ref end_selector coordinate_x_end coordinate_y_end sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_scroll: ref selector coordinate_x coordinate_y direction pixels sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_wait_for: text text_gone selector url timeout_ms sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_evaluate: expression ref selector timeout_ms sandbox -> text json",
      "browser_screenshot: ref selector full_page marks format max_width max_height sandbox -> text url title width height scale cut marks",
      "browser_tabs: action index url sandbox -> text tabs",
      "browser_upload_file: ref selector coordinate_x coordinate_y paths sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_handle_dialog: accept text sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_console: level limit sandbox -> text lines omitted",
      "browser_network: contains failed limit sandbox -> text requests omitted",
      "browser_pdf: path landscape sandbox -> text path bytes",
      "browser_close: sandbox -> text closed",
      "desktop_start: width height restart sandbox -> data display width height started view_url control_url path_urls",
      "computer_screenshot: sandbox -> text width height",
      "computer_click: coordinate button clicks text sandbox -> text ",
      "computer_type: text sandbox -> text ",
      "computer_key: text repeat duration sandbox -> text ",
      "computer_scroll: coordinate scroll_direction scroll_amount text sandbox -> text ",
      "computer_drag: start_coordinate coordinate via text sandbox -> text ",
      "computer_cursor: coordinate sandbox -> text x y",
      "tool_draft: name language code requirements sdist network secrets limits calls reuse timeout_ms tests -> data name state version newest language tools is_shared problem network secrets requirements calls_tools tests",
      "tool_test: name -> data version passed tests",
      "tool_publish: name -> data name state version newest language tools is_shared problem",
      "tool_list:  -> data tools total problems",
      "tool_get: name version -> data name state version newest language tools is_shared problem code network secrets requirements calls_tools tests versions calls errors last_errors",
      "search_tools: query limit -> data tools total",
      "describe_tool: name -> data name title description input_schema output_schema annotations",
      "call_tool: name arguments -> text ",
      "browser_navigation: url sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_restart: url sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_click: ref selector coordinate_x coordinate_y double_click button modifiers sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_enter_text: text coordinate_x coordinate_y press_enter override sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_enter_multi_texts: enter_texts sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_drag: start_ref start_selector coordinate_x_start coordinate_y_start end_ref end_selector coordinate_x_end coordinate_y_end sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_get_select_options: index sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_select_dropdown_option: index option sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_press_key: key sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_scroll_down: sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_scroll_up: sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_switch_tab: index sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_open_new_tab: sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_view_interactive_elements: sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
      "browser_wait: sandbox -> text url title navigated loading dialog dialogs downloads opened errors failures tree",
    ]
  `);
});

/** The way to what no list shows: agents learn it once, so nothing of it changes, whatever else does. */
it("keeps the three tools that find, describe and call others for ever", () => {
  const forever = shown.filter(({ name }) => /^(?:search_tools|describe_tool|call_tool)$/.test(name));
  expect(forever.map(({ name, inputSchema: { properties, required } }) => [name, required, typesOf(properties)])).toEqual([
    ["search_tools", ["query"], { query: "string", limit: "integer" }],
    ["describe_tool", ["name"], { name: "string" }],
    ["call_tool", ["name"], { name: "string", arguments: "object" }],
  ]);
});

/** What clients check arguments and results against: a bound, a type or a required field that changes breaks callers. */
it("keeps every built-in tool's schemas and hints", async () => {
  // Some of a toolset that excludes another have names of that one.
  const pinned = Object.fromEntries(
    shown.map(({ name, inputSchema, outputSchema, value, annotations }, index) => [
      tools[index]?.toolset === BROWSER_II ? `${BROWSER_II}: ${name}` : name,
      { annotations, inputSchema, outputSchema, value },
    ]),
  );
  await expect(`${JSON.stringify(pinned, null, 2)}\n`).toMatchFileSnapshot("./tool-schemas.snap");
});

/** `belljar mcp` and `belljar serve` show tools, and decide about them, by this file alone. */
it("finds in the built list of tools all that the code says of them", () => {
  expect(readToolFacts()).toStrictEqual(tools.map(toFacts));
});

function typesOf(properties: unknown): unknown {
  return Object.fromEntries(
    Object.entries(properties as Record<string, { readonly type: string }>).map(([name, { type }]) => [name, type]),
  );
}
