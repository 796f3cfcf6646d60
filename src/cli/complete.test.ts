import { describe, expect, it } from "vitest";
import { COMMANDS } from "./command-table.ts";
import { complete } from "./complete.ts";
import { manPage } from "./man-page.ts";

const words = (...argv: string[]) => complete(argv).candidates.map(({ word }) => word);

describe("complete", () => {
  it("completes commands, with their noun and without", () => {
    expect(words("sandb")).toEqual(["sandbox"]);
    expect(words("ki")).toEqual(["kill"]);
    expect(words("sandbox", "ki")).toEqual(["kill"]);
    expect(words("help", "tok")).toEqual(["token"]);
    expect(words("help", "token", "r")).toEqual(["revoke"]);
    expect(words("--home", "/x", "token", "cr")).toEqual(["create"]);
    for (const { name } of COMMANDS) {
      const parts = name.split(" ");
      expect(words(...parts.slice(0, -1), parts.at(-1) ?? "")).toContain(parts.at(-1));
    }
  });

  it("completes the options of the command, and what their values are", () => {
    expect(words("list", "--st")).toEqual(["--state"]);
    expect(words("kill", "--")).toEqual(expect.arrayContaining(["--all", "--json", "--home"]));
    expect(complete(["create", "--workspace", ""])).toEqual({ candidates: [], more: "files" });
    expect(complete(["diff", "--sandbox", ""])).toEqual({ candidates: [], more: "sandboxes" });
    expect(complete(["create", "--memory", ""])).toEqual({ candidates: [] });
    // `--home` ends with the letter of `--env`.
    expect(complete(["create", "--home", ""])).toEqual({ candidates: [], more: "files" });
  });

  it("completes arguments by the command's usage", () => {
    for (const argv of [
      ["kill", ""],
      ["kill", "a", "b"],
      ["exec", "-it", "-u", "root", ""],
      ["shell", ""],
      ["info", ""],
    ])
      expect([argv, complete(argv).more]).toEqual([argv, "sandboxes"]);
    for (const argv of [
      ["run", ""],
      ["cp", ""],
      ["exec", "web", ""],
      ["run", "--", ""],
    ])
      expect([argv, complete(argv).more]).toEqual([argv, "files"]);
    for (const argv of [
      ["tool", "get", ""],
      ["tool", "call", ""],
      ["tool", "remove", "a", "b"],
      ["tool", "export", ""],
      ["tool", "add", "--calls", ""],
    ])
      expect([argv, complete(argv).more]).toEqual([argv, "tools"]);
    expect(complete(["token", "revoke", "a", ""])).toEqual({ candidates: [], more: "tokens" });
    expect(complete(["tool", "update", "a", ""])).toEqual({ candidates: [], more: "files" });
    for (const argv of [
      ["info", "web", ""],
      ["tool", "call", "add", ""],
      ["tool", "import", "--owner", ""],
      ["tool", "add", "--name", ""],
    ])
      expect(complete(argv)).toEqual({ candidates: [] });
    expect(words("completion", "z")).toEqual(["zsh"]);
    expect(words("connect", "cl")).toEqual(["claude", "claude-desktop"]);
  });
});

describe("manPage", () => {
  it("names every command and option, and begins no line by accident", () => {
    const page = manPage("1.2.3");
    for (const { name, options } of COMMANDS)
      for (const text of [`belljar ${name}`, ...Object.keys(options).map((option) => `--${option}`)])
        expect(page).toContain(text.replaceAll("-", "\\-"));
    expect(page.match(/^[.'].*/gm)?.filter((line) => !/^\.(TH|SH|SS|TP|B|I|br)( |$)/.test(line))).toEqual([]);
  });
});
