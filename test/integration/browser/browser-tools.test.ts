import type { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliHome, openCliHome } from "../../support/belljar-cli.ts";
import { connectModel, createToken, refIn as refOf, SITE, startSite, type ToolAnswer, useTool } from "../../support/browser-model.ts";
import { removeMade } from "../../support/remove-made.ts";
import { serveHome } from "../../support/serve-home.ts";

/** A model's client at a real server, whose sandbox has the site of hard cases. */
describe("a browser that a model drives over MCP", () => {
  let cli: CliHome;
  let server: Awaited<ReturnType<typeof serveHome>>;
  let token: string;
  let client: Client;

  const tokenFor = (toolset: string): Promise<string> =>
    createToken(cli, `model-${toolset}`, [`toolset:${toolset}`, "toolset:files", "toolset:shell"]);
  const use = (name: string, args: object = {}, by: Client = client): Promise<ToolAnswer> => useTool(by, name, args);

  const go = (path: string): Promise<ToolAnswer> => use("browser_navigate", { url: SITE + path });
  const see = async (): Promise<string> => (await use("browser_snapshot")).text;

  beforeAll(async () => {
    cli = await openCliHome();
    server = await serveHome(cli, ["--pids", "600"]);
    token = await tokenFor("browser");
    client = await connectModel(server.url, token);
    await startSite(client);
  }, 120_000);
  afterAll(async () => {
    await client.close();
    for (const toolset of ["browser", "browser-ii"]) await removeMade(cli, server.url, `model-${toolset}`);
    await server[Symbol.asyncDispose]();
    await cli[Symbol.asyncDispose]();
  }, 60_000);

  it("opens a page, fills its form by references, and is told what changed", async () => {
    const opened = await go("/form");
    expect(opened.text).toContain("title: Form");
    const text = await see();
    const fields = [
      { ref: refOf(text, 'textbox "Name"'), value: "Ann" },
      { ref: refOf(text, 'textbox "Notes"'), value: "سلام" },
    ];
    const filled = await use("browser_fill_form", { fields });
    expect(filled, filled.text).toMatchObject({ isError: false });
    expect((await use("browser_select_option", { ref: refOf(text, 'combobox "Colour"'), values: ["Blue"] })).text).toContain(
      'value="Blue"',
    );
    const sent = await use("browser_click", { ref: refOf(text, 'button "Send"') });
    expect(sent.text).toContain("title: Sent");
    expect(await see()).toMatch(/name=Ann&.*colour=Blue/);
  }, 60_000);

  it("marks what a page says as outside text, whatever the page says of it", async () => {
    await go("/hostile");
    const { text } = await use("browser_snapshot");
    const [, nonce] = /outside text ([0-9a-f]{8,}) begins/i.exec(text) ?? [];
    expect(nonce, text).toBeDefined();
    expect(text).toMatch(/outside text/i);
    expect(text.indexOf("Ignore all")).toBeGreaterThan(text.indexOf(nonce ?? "-"));
    expect(text.lastIndexOf(nonce ?? "-")).toBeGreaterThan(text.indexOf("Ignore all"));
  }, 60_000);

  it("acts in frames, shadows and on points, and says of a reference that is gone what is nearest", async () => {
    await go("/frames");
    expect((await use("browser_click", { ref: refOf(await see(), 'button "Press 3"') })).text).toContain("Clicked 3");
    await go("/shadow");
    expect((await use("browser_click", { selector: "text=In the shadow" })).text).toContain("Shadow clicked");
    await go("/canvas");
    const box = await use("browser_evaluate", { expression: "JSON.stringify(c.getBoundingClientRect())" });
    const { x, y } = JSON.parse(JSON.parse(/"\{.*\}"/.exec(box.text)?.[0] ?? '"{}"') as string) as { x: number; y: number };
    expect((await use("browser_click", { coordinate_x: x + 40, coordinate_y: y + 30 })).text).toContain("at 40,30");
    await go("/changing");
    const text = await see();
    const old = refOf(text, 'link "Old one"');
    await use("browser_click", { ref: refOf(text, 'button "Add"') });
    await use("browser_click", { ref: refOf(text, 'button "Remove"') });
    const stale = await use("browser_click", { ref: old });
    expect(stale).toMatchObject({ isError: true, text: expect.stringMatching(/STALE_REF.*the nearest is link "New one"/s) });
  }, 60_000);

  it("hovers, types, presses, selects, drags, scrolls and waits, and says what each did or was given wrong", async () => {
    // Each waits for eight seconds, in a tab of its own.
    const slow = await Promise.all([connectModel(server.url, token, "legacy"), connectModel(server.url, token, "legacy")]);
    const [absent, hidden] = ["#no-such-thing", "#hidden"].map(async (selector, at) => {
      await use("browser_navigate", { url: `${SITE}/acts` }, slow[at]);
      return use("browser_click", { selector }, slow[at]);
    });
    const late = Promise.allSettled([absent, hidden]);
    await go("/acts");
    const text = await see();
    const ref = (of: string): { ref: string } => ({ ref: refOf(text, of) });
    const does = async (tool: string, args: object, said: string | RegExp): Promise<void> => {
      const done = await use(`browser_${tool}`, args);
      expect(done.text, `${tool} ${JSON.stringify(args)}`).toMatch(said);
      expect(done.isError, done.text).toBe(false);
    };
    await does("hover", ref('button "Hover me"'), "hovered");
    await does("type", { ...ref('textbox "Keys"'), text: "new" }, 'value="new"');
    await does("type", { selector: "[aria-label=Keys]", text: "er", append: true, slowly: true }, /key r[^]*value="newer"/);
    await does("press_key", { key: "Control+ArrowLeft" }, /key Control\+ArrowLeft/);
    await does("type", { text: "a " }, 'value="a newer"');
    await does("type", { ...ref('textbox "Query"'), text: "what", submit: true }, "submitted what");
    await does("select_option", { ...ref('listbox "Many"'), values: ["1", "Three"] }, /One[^]*Three/);
    await does("drag", { start_selector: "#from", end_selector: "#to" }, "dropped it");
    const box = await use("browser_evaluate", { expression: "Object.values(pad.getBoundingClientRect().toJSON()).slice(0, 2).join()" });
    const [x = 0, y = 0] = (/"([\d.]+),([\d.]+)"/.exec(box.text) ?? []).slice(1).map(Number);
    const points = { coordinate_x_start: x + 10, coordinate_y_start: y + 10, coordinate_x_end: x + 110, coordinate_y_end: y + 20 };
    await does("drag", points, "dragged 100");
    await does("click", { ...ref('button "Wait"') }, "title: Acts");
    // It may have come with the click already, and is no change then.
    await does("wait_for", { text: "later", url: "**/acts", selector: "#out" }, "title: Acts");
    expect(await see()).toContain("later");
    await does("scroll", { direction: "down", pixels: 300 }, "title: Acts");
    await does("wait_for", { text: "at 300", text_gone: "later" }, "title: Acts");
    await does("scroll", { selector: "text=Far below" }, /at \d{4}/);

    const fails = async (tool: string, args: object, said: RegExp): Promise<void> =>
      expect(await use(`browser_${tool}`, args)).toMatchObject({ isError: true, text: expect.stringMatching(said) });
    await fails("click", { ref: "e999999" }, /STALE_REF/);
    await fails("hover", { ref: "Save" }, /STALE_REF/);
    await fails("click", { selector: "##" }, /ARGUMENTS_INVALID.*The selector cannot be read/s);
    await fails("click", { selector: "button" }, /ARGUMENTS_INVALID.*matches 4 elements/s);
    for (const tool of ["click", "hover"])
      await fails(tool, { coordinate_x: 1280, coordinate_y: 5 }, /ARGUMENTS_INVALID.*1280,5 .*1280x720/s);
    await fails("type", { coordinate_x: 5, coordinate_y: -1, text: "x" }, /ARGUMENTS_INVALID.*5,-1/s);
    await fails("press_key", { key: "Enterr" }, /ARGUMENTS_INVALID.*Unknown key/s);
    await fails("select_option", { selector: "#pad", values: ["x"] }, /ACTION_FAILED.*not a <select>/s);
    await fails("type", { selector: "#pad", text: "x" }, /ACTION_FAILED/);
    await fails("wait_for", { text: "never", timeout_ms: 200 }, /ACTION_TIMEOUT.*200 ms/s);
    await fails("upload_file", { selector: "#pad", paths: ["/"] }, /ARGUMENTS_INVALID.*no file/s);
    await fails("pdf", { path: "/none/x.pdf" }, /FILE_NOT_FOUND/);
    await fails("navigate", { url: "no address" }, /NAVIGATION_FAILED/);
    await fails("evaluate", { expression: "throw" }, /SCRIPT_FAILED/);
    await fails("tabs", { action: "select", index: 19 }, /TAB_NOT_FOUND/);
    await fails("handle_dialog", { accept: true }, /ACTION_FAILED.*No dialog/s);
    const [none, unseen] = await late;
    expect(none).toMatchObject({ value: { isError: true, text: expect.stringContaining("ELEMENT_NOT_FOUND") } });
    expect(unseen).toMatchObject({ value: { isError: true, text: expect.stringMatching(/ACTION_TIMEOUT.*not visible/s) } });
    await Promise.all(slow.map((one) => (one.transport as StreamableHTTPClientTransport).terminateSession().then(() => one.close())));
  }, 60_000);

  it("lets a client that may only read look, and change nothing", async () => {
    const reader = await connectModel(server.url, await createToken(cli, "reader", ["read-only", "toolset:browser"]));
    const names = (await reader.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith("browser_"));
    expect(names.toSorted()).toEqual(["browser_console", "browser_network", "browser_screenshot", "browser_snapshot"]);
    expect(await use("browser_click", { coordinate_x: 1, coordinate_y: 1 }, reader)).toMatchObject({ isError: true });
    await reader.close();
  }, 60_000);

  it("answers dialogs, follows windows, and outlives a thousand of them and a page that never ends", async () => {
    await go("/dialogs");
    const held = await use("browser_click", { selector: "text=Prompt" });
    expect(held.text).toContain('prompt "Name?", proposes "Ann"');
    await use("browser_handle_dialog", { accept: true, text: "Ben" });
    expect(await see()).toContain("Ben");
    await go("/popup");
    expect((await use("browser_click", { selector: "text=Open a window" })).text).toMatch(/opened tab \d+: .*inner\?n=9/);
    await use("browser_tabs", { action: "close", index: 1 });
    await go("/thousand");
    await use("browser_click", { selector: "text=Open all" });
    const tabs = await use("browser_tabs", { action: "list" });
    expect(tabs.text.match(/inner\?n=/g)?.length ?? 0).toBeLessThanOrEqual(20);
    await use("browser_close");
    await go("/busy");
    const hung = await use("browser_click", { selector: "text=Never again" });
    expect(hung.isError, hung.text).toBe(true);
    expect((await go("/rtl")).text).toContain("من اليمين");
  }, 90_000);

  it("uploads and downloads files of the sandbox alone", async () => {
    const outside = join(cli.folder, "only-on-the-host.txt");
    await writeFile(outside, "of the host");
    await go("/upload");
    expect(await use("browser_upload_file", { selector: "input", paths: [outside] })).toMatchObject({
      isError: true,
      text: expect.stringContaining("FILE_NOT_FOUND"),
    });
    await use("write_file", { path: "up.txt", content: "of the sandbox" });
    await use("browser_upload_file", { selector: "input", paths: ["up.txt"] });
    expect(await see()).toContain("of the sandbox");
    await go("/download");
    const got = await use("browser_click", { selector: "text=Small file" });
    expect(got.text, "it names the file").toMatch(/download (?:done|running): .*file\.txt/);
    const late = await use("browser_click", { selector: "text=Late file" });
    expect(late.text, "whose first bytes come late").toMatch(/download (?:done|running): .*late\.txt/);
    const cat = "until [ -s ~/Downloads/file.txt ]; do sleep 0.05; done; cat ~/Downloads/file.txt";
    expect((await use("run_command", { command: cat })).text).toContain("a small file");
  }, 60_000);

  it("takes pictures with numbers, and tells the console and the requests", async () => {
    await go("/console");
    await use("browser_click", { selector: "text=Fail" });
    expect((await use("browser_console", { level: "error" })).text).toContain("it broke");
    expect((await use("browser_network", { failed: true })).text).toContain("/missing");
    const shot = await use("browser_screenshot", { marks: true, format: "png" });
    expect(shot.picture?.subarray(1, 4).toString()).toBe("PNG");
    expect(shot.text).toContain('button "Fail"');
    expect((await use("browser_pdf", { path: "page.pdf" })).isError).toBe(false);
    expect((await use("run_command", { command: "head -c 5 page.pdf" })).text).toContain("%PDF-");
  }, 60_000);

  it("reaches nothing that the sandbox does not", async () => {
    for (const url of ["http://169.254.169.254/", "https://example.com/"])
      expect((await use("browser_navigate", { url })).text, "the rule is named").toMatch(/no-rule; the missing rule is/);
    expect((await use("browser_navigate", { url: server.url })).text).toContain("ERR_CONNECTION_REFUSED");
    // A page leads nowhere that pages may not lead.
    await go("/reach");
    for (const place of ["file:///etc/passwd", "chrome://version", "http://169.254.169.254/", "http://localhost:1/"]) {
      await use("browser_click", { selector: `text=${place}` });
      const { text } = await use("browser_evaluate", { expression: "document.body.innerText.slice(0, 500)" });
      expect(text, place).not.toMatch(/root:|Chromium.*Revision|ami-id/s);
      await go("/reach");
    }
  }, 60_000);

  it("closes the tabs of a client whose session has ended, and no other's", async () => {
    const [leaving, staying] = [await connectModel(server.url, token, "legacy"), await connectModel(server.url, token, "legacy")];
    try {
      const open = async (by: Client, who: string): Promise<string> => {
        await use("browser_navigate", { url: `${SITE}/held?who=${who}` }, by);
        return (await use("browser_wait_for", { text: "It holds" }, by)).text;
      };
      expect(await open(leaving, "leaving")).toContain("title: leaving");
      expect(await open(staying, "staying")).toContain("title: staying");
      await (leaving.transport as StreamableHTTPClientTransport).terminateSession();
      const gone = `node -e 'fetch("${SITE}/gone?who=leaving").then((one) => one.text()).then(console.log)'`;
      expect((await use("run_command", { command: gone })).text).toContain("gone: leaving");
      expect((await use("browser_tabs", { action: "list" }, staying)).text).toContain("0 (current): staying");
      await use("browser_close", {}, staying);
    } finally {
      await leaving.close();
      await staying.close();
    }
  }, 60_000);

  it("has document 0's names in a toolset of their own, with numbers on a picture", async () => {
    const other = await connectModel(server.url, await tokenFor("browser-ii"));
    try {
      await startSite(other);
      const opened = await use("browser_navigation", { url: `${SITE}/changing` }, other);
      expect(opened.picture?.length).toBeGreaterThan(1_000);
      expect(opened.text).toMatch(/button "?Add/);
      const form = await use("browser_navigation", { url: `${SITE}/form` }, other);
      const index = Number(/^(\d+): combobox "Colour"/m.exec(form.text)?.[1]);
      expect((await use("browser_get_select_options", { index }, other)).text).toContain("1: Green (selected)");
      const chosen = await use("browser_select_dropdown_option", { index, option: "Blue" }, other);
      expect(chosen.text).toContain('value="Blue"');
      const acts = await use("browser_restart", { url: `${SITE}/acts` }, other);
      const at = (of: string): { coordinate_x: number; coordinate_y: number } => {
        const [, x, y] = new RegExp(`^\\d+: .*"${of}".* at (\\d+),(\\d+)$`, "m").exec(acts.text) ?? [];
        return { coordinate_x: Number(x), coordinate_y: Number(y) };
      };
      const does = async (tool: string, args: object, said: string | RegExp): Promise<void> => {
        const done = await use(`browser_${tool}`, args, other);
        expect(done.text, tool).toMatch(said);
        expect(done.picture?.length ?? 0, tool).toBeGreaterThan(1_000);
      };
      await does("click", at("Hover me"), "hovered");
      await does("enter_text", { ...at("Keys"), text: "er" }, 'value="older"');
      await does("enter_text", { ...at("Keys"), text: "new", override: true }, 'value="new"');
      const texts = [
        { ...at("Query"), text: "what" },
        { text: "ever", press_enter: true },
      ];
      await does("enter_multi_texts", { enter_texts: texts }, "submitted whatever");
      await does("press_key", { key: "Shift+Tab" }, /textbox "Keys"/);
      await does("drag", { start_selector: "#from", end_selector: "#to" }, "dropped it");
      await does("scroll_down", {}, "title: Acts");
      await does("wait", {}, /title: Acts/);
      await does("scroll_up", {}, "title: Acts");
      await does("open_new_tab", {}, "about:blank");
      await does("switch_tab", { index: 0 }, "title: Acts");
      await does("view_interactive_elements", {}, 'button "Hover me"');
      expect((await use("browser_switch_tab", { index: 7 }, other)).text).toContain("TAB_NOT_FOUND");
      expect((await use("browser_get_select_options", { index: 9_999 }, other)).text).toContain("ELEMENT_NOT_FOUND");
      const names = (await other.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith("browser_"));
      expect(names).toHaveLength(15);
    } finally {
      await other.close();
    }
  }, 60_000);
});
