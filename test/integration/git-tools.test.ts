import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openToolCaller, readRest, textOf } from "../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;
type Arguments = Readonly<Record<string, unknown>>;

async function shell(tools: Tools, command: string): Promise<string> {
  const { value } = await tools.call("run_command", { command: `set -e\n${command}` });
  expect(value).toMatchObject({ exit_code: 0 });
  return String(value["stdout"]);
}

/** The value of a call that must succeed. */
async function git(tools: Tools, name: string, args: Arguments = {}): Promise<Readonly<Record<string, unknown>>> {
  const result = await tools.call(`git_${name}`, args);
  expect(result.isError, textOf(result)).toBeUndefined();
  return result.value;
}

async function refusal(tools: Tools, name: string, args: Arguments): Promise<string> {
  const result = await tools.call(`git_${name}`, args);
  expect(result.isError, textOf(result)).toBe(true);
  return textOf(result);
}

/** A repository `work` on `main` with one commit, whose remote is the bare `remote.git`. */
async function openRepository(): Promise<Tools> {
  const tools = await openToolCaller();
  await shell(
    tools,
    "git init -q --bare -b main remote.git; git clone -q remote.git work 2>/dev/null; cd work; git switch -q -c main; seq 1 5 > a.txt",
  );
  await git(tools, "add", { path: "work", all: true });
  await git(tools, "commit", { path: "work", message: "First" });
  await git(tools, "push", { path: "work", set_upstream: true });
  return tools;
}

it("tells every kind of change, whatever the file is called", async () => {
  await using tools = await openRepository();
  await shell(
    tools,
    "cd work; for name in b c 'with space' d; do seq 1 20 > \"$name\"; done; git add .; git -c user.name=x -c user.email=x@y commit -qm more",
  );
  await shell(
    tools,
    "cd work; git mv c c2; echo x >> a.txt; git add a.txt; echo y >> a.txt; rm b; rm 'with space'; echo new > $'new\\tline\\n\"x\"'; touch ./-n",
  );
  const status = await git(tools, "status", { path: "work" });
  expect(status).toMatchObject({ branch: "main", upstream: "origin/main", ahead: 1, behind: 0, clean: false, truncated: false });
  expect(status["entries"]).toEqual([
    { path: "a.txt", from: null, index: "modified", worktree: "modified", conflict: false },
    { path: "b", from: null, index: "unmodified", worktree: "deleted", conflict: false },
    { path: "c2", from: "c", index: "renamed", worktree: "unmodified", conflict: false },
    { path: "with space", from: null, index: "unmodified", worktree: "deleted", conflict: false },
    { path: "-n", from: null, index: "untracked", worktree: "untracked", conflict: false },
    { path: 'new\tline\n"x"', from: null, index: "untracked", worktree: "untracked", conflict: false },
  ]);
  const text = textOf(await tools.call("git_status", { path: "work" }));
  expect(text).toContain("index renamed, worktree unmodified: c -> c2");
  expect(text).toContain('untracked: "new\\tline\\n\\"x\\""');
});

it("says of a repository without commits and of a clean one what they are", async () => {
  await using tools = await openRepository();
  await shell(tools, "git init -q -b trunk empty");
  expect(await git(tools, "status", { path: "empty" })).toMatchObject({
    branch: "trunk",
    commit: null,
    upstream: null,
    ahead: null,
    clean: true,
    entries: [],
  });
  expect(textOf(await tools.call("git_status", { path: "work" }))).toMatch(
    /^On branch main at [0-9a-f]{40}\nUpstream origin\/main: 0 ahead, 0 behind\nNothing to commit/,
  );
});

it("shows changes with their lines, staged ones and those between commits", async () => {
  await using tools = await openRepository();
  await shell(tools, "cd work; echo 6 >> a.txt; printf 'a\\0b' > bin; git add bin");
  expect(await git(tools, "diff", { path: "work" })).toEqual({
    files: [{ path: "a.txt", from: null, status: "modified", added: 1, removed: 0 }],
    patch: expect.stringMatching(/^diff --git a\/a\.txt b\/a\.txt\n[\s\S]*\n\+6\n$/),
    truncated: false,
  });
  expect(await git(tools, "diff", { path: "work", staged: true })).toMatchObject({
    files: [{ path: "bin", status: "added", added: null, removed: null }],
  });
  await git(tools, "commit", { path: "work", message: "Second", all: true });
  await shell(tools, "cd work; git mv a.txt b.txt; git add .");
  await git(tools, "commit", { path: "work", message: "Third" });
  expect(await git(tools, "diff", { path: "work", from: "HEAD~2", to: "HEAD", paths: ["bin"] })).toMatchObject({
    files: [{ path: "bin" }],
  });
  expect(await git(tools, "diff", { path: "work", from: "HEAD~1", to: "HEAD" })).toMatchObject({
    files: [{ path: "b.txt", from: "a.txt", status: "renamed", added: 0, removed: 0 }],
  });
  expect(await git(tools, "diff", { path: "work" })).toMatchObject({ files: [], patch: "" });
});

it("cuts a long diff at a line and says so", async () => {
  await using tools = await openRepository();
  await shell(tools, "cd work; seq 1 200000 > a.txt");
  const result = await tools.call("git_diff", { path: "work" });
  const { patch, truncated } = result.value as { patch: string; truncated: boolean };
  expect(truncated).toBe(true);
  expect(patch).toMatch(/\n\+\d+\n$/);
  expect(patch.length).toBeLessThan(131_072);
  const rest = await readRest(tools, result);
  expect(Number(rest[0])).toBe(Number(patch.trimEnd().split("\n").at(-1)) + 1);
  expect(rest.at(-1)).toBe("+200000");
});

it("commits with a message as it stands, and tells what went in", async () => {
  await using tools = await openRepository();
  await shell(tools, "cd work; echo more >> a.txt; echo new > new");
  await git(tools, "add", { path: "work", paths: ["a.txt", "new"] });
  const message = "--amend $(id) 'quoted'\n\nBody \"line\"\n# kept?";
  const made = await git(tools, "commit", { path: "work", message, author_name: "Ann Author", author_email: "ann@example.org" });
  expect(made).toMatchObject({
    branch: "main",
    subject: "--amend $(id) 'quoted'",
    author: "Ann Author <ann@example.org>",
    insertions: 2,
    deletions: 0,
    files: [
      { path: "a.txt", status: "modified", added: 1 },
      { path: "new", status: "added", added: 1 },
    ],
  });
  expect(await shell(tools, "cd work; git log -1 --format=%B")).toBe(`${message}\n\n`);
  expect(await refusal(tools, "commit", { path: "work", message: "Nothing" })).toMatch(/^COMMAND_FAILED: git commit exited with 1:/);
});

it("tells history with authors, parents and whole messages, in pages", async () => {
  await using tools = await openRepository();
  for (const message of ["Two\n\nWith a body\nof two lines", "Three"])
    await git(tools, "commit", { path: "work", message, allow_empty: true });
  const page = await git(tools, "log", { path: "work", max_count: 2 });
  expect(page).toMatchObject({
    truncated: true,
    commits: [
      { subject: "Three", body: "", refs: ["HEAD -> main"], parents: [expect.stringMatching(/^[0-9a-f]{40}$/)] },
      { subject: "Two", body: "With a body\nof two lines" },
    ],
  });
  expect(await git(tools, "log", { path: "work", max_count: 2, skip: 2 })).toMatchObject({
    truncated: false,
    commits: [{ subject: "First", parents: [] }],
  });
  expect(await git(tools, "log", { path: "work", grep: "With a body" })).toMatchObject({ commits: [{ subject: "Two" }] });
  expect(await git(tools, "log", { path: "work", paths: ["a.txt"] })).toMatchObject({ commits: [{ subject: "First" }] });
  expect(await git(tools, "log", { path: "work", revision: "main~1..main" })).toMatchObject({ commits: [{ subject: "Three" }] });
});

it("makes, renames and deletes branches, and loses no commits unasked", async () => {
  await using tools = await openRepository();
  await git(tools, "branch", { path: "work", action: "create", name: "topic/one" });
  await git(tools, "branch", { path: "work", action: "rename", name: "topic/one", new_name: "topic/two" });
  await git(tools, "checkout", { path: "work", branch: "topic/two" });
  await git(tools, "commit", { path: "work", message: "Only here", allow_empty: true });
  await git(tools, "checkout", { path: "work", branch: "main" });
  expect(await git(tools, "branch", { path: "work", remotes: true })).toMatchObject({
    current: "main",
    truncated: false,
    branches: [
      { name: "main", current: true, remote: false, upstream: "origin/main", subject: "First" },
      { name: "topic/two", current: false, upstream: null, subject: "Only here" },
      { name: "origin/main", remote: true },
    ],
  });
  expect(await refusal(tools, "branch", { path: "work", action: "delete", name: "topic/two" })).toMatch(
    /^COMMAND_FAILED: git branch exited with 1/,
  );
  expect(await git(tools, "branch", { path: "work", action: "delete", name: "topic/two", force: true })).toMatchObject({
    branches: [{ name: "main" }],
  });
});

it("checks out branches, commits and files, and never over changes", async () => {
  await using tools = await openRepository();
  expect(await git(tools, "checkout", { path: "work", branch: "topic", create: true })).toMatchObject({ branch: "topic", clean: true });
  await shell(tools, "cd work; echo topic > a.txt");
  await git(tools, "commit", { path: "work", message: "Topic", all: true });
  await shell(tools, "cd work; echo mine > a.txt");
  expect(await refusal(tools, "checkout", { path: "work", branch: "main" })).toMatch(/^COMMAND_FAILED: .*\n[\s\S]*a\.txt/);
  expect(await git(tools, "checkout", { path: "work", paths: ["a.txt"] })).toMatchObject({ branch: "topic", clean: true });
  expect(await git(tools, "checkout", { path: "work", revision: "main" })).toMatchObject({ branch: null, clean: true });
  await git(tools, "checkout", { path: "work", paths: ["a.txt"], revision: "topic" });
  expect(await shell(tools, "cat work/a.txt")).toBe("topic\n");
});

it("clones, pushes and pulls between two clones", async () => {
  await using tools = await openRepository();
  expect(await git(tools, "clone", { url: "remote.git", path: "other" })).toMatchObject({
    path: "/home/user/other",
    branch: "main",
    url: "remote.git",
  });
  await git(tools, "commit", { path: "other", message: "Theirs", allow_empty: true });
  expect(await git(tools, "push", { path: "other" })).toMatchObject({
    remote: "origin",
    updates: [{ from: "HEAD", to: "refs/heads/main", status: "updated" }],
  });
  expect(await git(tools, "push", { path: "other" })).toMatchObject({ updates: [{ status: "up_to_date" }] });
  await shell(tools, "cd work; echo mine >> a.txt");
  await git(tools, "commit", { path: "work", message: "Mine", all: true });
  expect(await refusal(tools, "push", { path: "work" })).toMatch(/^COMMAND_FAILED: git push exited with 1:[\s\S]*rejected/);
  expect(await refusal(tools, "pull", { path: "work" })).toMatch(/^COMMAND_FAILED: git pull exited with 128/);
  const pulled = await git(tools, "pull", { path: "work", strategy: "merge" });
  expect(pulled).toMatchObject({ updated: true, files: [] });
  expect(await git(tools, "pull", { path: "work" })).toMatchObject({ updated: false, before: pulled["after"] });
  await git(tools, "push", { path: "work" });
  expect(await git(tools, "pull", { path: "other" })).toMatchObject({
    updated: true,
    files: [{ path: "a.txt", status: "modified", added: 1, removed: 0 }],
  });
});

it("names the files in conflict", async () => {
  await using tools = await openRepository();
  await git(tools, "clone", { url: "remote.git", path: "other" });
  for (const folder of ["other", "work"]) {
    await shell(tools, `cd ${folder}; echo ${folder} > a.txt`);
    await git(tools, "commit", { path: folder, message: folder, all: true });
  }
  await git(tools, "push", { path: "other" });
  expect(await refusal(tools, "pull", { path: "work", strategy: "merge" })).toMatch(
    /^COMMAND_FAILED: git pull exited with 1:[\s\S]*\nIn conflict:\na\.txt$/,
  );
  expect(await git(tools, "status", { path: "work" })).toMatchObject({ entries: [{ path: "a.txt", conflict: true }] });
});

it("runs no program of a hostile repository to look at it", async () => {
  await using tools = await openRepository();
  await shell(
    tools,
    `cd work; for key in core.fsmonitor diff.external core.pager diff.x.textconv diff.x.command; do git config $key 'touch ../ran; true'; done
     echo '* diff=x' > .gitattributes; echo more >> a.txt`,
  );
  for (const name of ["status", "diff", "log", "branch"]) await git(tools, name, { path: "work" });
  expect(await shell(tools, "[ -e ran ] && echo ran || echo quiet")).toBe("quiet\n");
});

it("takes paths literally", async () => {
  await using tools = await openRepository();
  await shell(tools, "cd work; touch '*' one ./--all ':(top)x'");
  await git(tools, "add", { path: "work", paths: ["*", "--all", ":(top)x"] });
  const { entries } = await git(tools, "status", { path: "work" });
  expect((entries as { path: string; index: string }[]).map(({ path, index }) => `${path} ${index}`)).toEqual([
    "* added",
    "--all added",
    ":(top)x added",
    "one untracked",
  ]);
});

it("offers a credential to its own host, and shows it nowhere", async () => {
  const folder = await mkdtemp(join(tmpdir(), "belljar-git-"));
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    if (!request.headers.authorization) return response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
    const path = join(folder, new URL(request.url ?? "", "http://localhost").pathname);
    return void readFile(path).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await using tools = await openRepository();
    const script =
      "git init -q -b main a; git -C a -c user.name=x -c user.email=x@y commit -q --allow-empty -m Served; git clone -q --bare a served.git; git -C served.git update-server-info";
    execFileSync("sh", ["-ec", script], { cwd: folder });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/served.git`;
    const credential = { username: "ann", password: "planted-secret" };
    expect(await refusal(tools, "clone", { url, path: "without" })).toMatch(/^COMMAND_FAILED: /);
    expect(await git(tools, "clone", { url, path: "with", credential })).toMatchObject({ branch: "main", path: "/home/user/with" });
    expect(new Set(seen)).toEqual(new Set([undefined, `Basic ${Buffer.from("ann:planted-secret").toString("base64")}`]));
    expect(await git(tools, "pull", { path: "with", credential })).toMatchObject({ updated: false });
    await shell(tools, "cd with; git config user.name x; git remote set-url origin http://ann:planted-secret@127.0.0.1:1/x.git");
    expect(await refusal(tools, "pull", { path: "with" })).not.toContain("planted-secret");
    expect(await shell(tools, "grep -rl planted-secret . | sort")).toBe("./with/.git/config\n");
    expect(await refusal(tools, "clone", { url: "http://example.org/x.git", path: "y", credential })).toMatch(
      /^ARGUMENTS_INVALID: credential: /,
    );
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  }
});

it.each([
  ["status", { path: "missing" }, "FILE_NOT_FOUND: "],
  ["status", {}, "COMMAND_FAILED: git status exited with 128:"],
  ["status", { path: "a\0b" }, "path: must not hold a NUL byte"],
  ["diff", { to: "main" }, "to: needs from"],
  ["diff", { from: "--output=/tmp/x" }, "from: is no revision"],
  ["log", { revision: "--all" }, "revision: is no revision"],
  ["log", { max_count: 201 }, "max_count: "],
  ["add", {}, "Give either paths or all"],
  ["add", { all: true, paths: ["a"] }, "Give either paths or all"],
  ["commit", {}, "message: "],
  ["commit", { message: " \n" }, "message: must say something"],
  ["commit", { message: "x", author_name: "a <b>" }, "author_name: "],
  ["branch", { action: "create" }, "name: is needed"],
  ["branch", { action: "create", name: "--force" }, "name: is no name of a branch"],
  ["branch", { action: "create", name: "a..b" }, "name: is no name of a branch"],
  ["branch", { action: "rename", name: "a" }, "new_name: belongs to rename"],
  ["checkout", {}, "Give branch, revision or paths"],
  ["checkout", { branch: "a", paths: ["b"] }, "exclude each other"],
  ["clone", { url: "ext::sh -c id" }, "url: names a transport that runs a program"],
  ["clone", { url: "--upload-pack=id" }, "url: must not begin with a dash"],
  ["clone", { url: "https://user:secret@example.org/x" }, "url: must hold no user or password"],
  ["clone", { url: "ssh://-oProxyCommand=id/x" }, "url: "],
  ["clone", { url: "ftp://example.org/x" }, "url: must be https, http, ssh, git or file"],
  ["clone", { url: "https://example.org/x", credential: {} }, "credential: give either password or password_env"],
  ["push", { remote: "-x" }, "remote: "],
  ["push", { branch: "+main:other" }, "branch: is no name of a branch"],
  ["pull", { remote: "other" }, "branch: is needed with remote"],
  ["pull", { strategy: "octopus" }, "strategy: "],
])("%s refuses %j", async (name, args, problem) => {
  await using tools = await openToolCaller();
  expect(await refusal(tools, name, args)).toContain(problem);
});
