import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { inside, openBuildLab } from "../../support/build-lab.ts";
import { STATE_STORAGES } from "../../support/state-home.ts";

for (const storage of STATE_STORAGES) {
  it(`a Dockerfile of several stages is a template, with storage in ${storage}`, async () => {
    await using lab = await openBuildLab({ storage });
    lab.put("notes/one.txt", "1");
    lab.put("notes/deep/two.txt", "2");
    lab.put("run.sh", "echo ran\n", 0o755);
    const made = await lab
      .build(
        [
          "# escape=`",
          "ARG TOP=top",
          `FROM ${lab.image} AS maker`,
          "ARG TOP",
          "ARG WORD=word",
          "WORKDIR /work/${WORD}",
          "RUN echo $TOP $WORD $FROM_IMAGE > made && `",
          "  # a comment",
          "  mkdir out && echo x > out/y",
          `FROM ${lab.image} AS unused`,
          "RUN exit 3",
          `FROM ${lab.image}`,
          "ENV GREETING='hello there' PATH=$PATH:/extra",
          "LABEL a=b",
          "COPY --from=maker /work/word/ /got/",
          "COPY --chown=ann:staff --chmod=750 notes /srv/link/notes/",
          "ADD run.sh /srv/closed/",
          'SHELL ["/bin/sh", "-ec"]',
          "USER ann",
          "WORKDIR /srv/app",
          'RUN ["touch", "/home/ann/mine"]',
          'ENTRYPOINT ["sh"]',
          'CMD ["-c", "ls"]',
        ].join("\n"),
        { buildArgs: { WORD: "word", TOP: "given" } },
      )
      .catch((cause: unknown) => {
        throw new Error(`${String(cause)}\n${lab.log()}`);
      });
    expect(made).toMatchObject({
      source: { kind: "dockerfile", from: lab.image },
      base: "bare",
      user: "ann",
      cwd: "/srv/app",
      command: ["sh", "-c", "ls"],
      env: { GREETING: "hello there", PATH: "/bin:/extra", FROM_IMAGE: "yes" },
    });
    expect(await inside(lab, "cat /got/made /got/out/y; id -u; pwd; echo $GREETING; ls ~")).toBe(
      "given word yes\nx\n1234\n/srv/app\nhello there\nmine",
    );
    expect(
      await inside(
        lab,
        "cd /srv/app; cat first notes/one.txt notes/deep/two.txt; stat -c '%u:%g %a' notes/one.txt /srv/closed /srv/closed/run.sh",
      ),
    ).toBe("from below121234:50 750\n0:0 711\n0:0 755");
  });
}

it("a Dockerfile on the host's own programs is a template", async () => {
  await using lab = await openBuildLab();
  lab.put("tool.sh", "echo tool\n", 0o755);
  const made = await lab.build(
    "FROM base\nCOPY --chown=user tool.sh /usr/local/bin/tool\nCOPY tool.sh /home/user/\nRUN touch /usr/local/ran\nENV A=b\n",
  );
  expect(made).toMatchObject({ base: "base", env: { A: "b" } });
  expect(made.user).toBeUndefined();
  expect(
    await inside(
      lab,
      "whoami; tool 2>&1 || sh /usr/local/bin/tool; pwd; ls /usr/local/ran tool.sh; stat -c %U /usr/local/bin/tool; echo $A",
    ),
  ).toBe("user\ntool\n/home/user\n/usr/local/ran\ntool.sh\nuser\nb");
});

it("a Dockerfile begins with a template, and changes its command part by part", async () => {
  await using lab = await openBuildLab();
  await lab.build(`FROM ${lab.image}\nUSER ann\nCMD ["cat"]`, { name: "below", start: { command: "true" } });
  const made = await lab.build("FROM below\nRUN id -u > /home/ann/uid\nCMD sleep 1");
  expect(made).toMatchObject({ user: "ann", command: ["/bin/sh", "-c", "sleep 1"], start: { command: "true" } });
  expect(await inside(lab, "cat ~/uid")).toBe("1234");
  await lab.home.templates.remove(LOCAL, "below");
  expect(await inside(lab, "cat ~/uid")).toBe("1234");
});

it("all files of a stage are copied without what each sandbox has of its own", async () => {
  await using lab = await openBuildLab();
  await lab.build(
    [
      `FROM ${lab.image} AS made`,
      "RUN mkdir -p /srv/dev/sys /opt/mine && echo kept > /srv/dev/sys/file && echo kept > /opt/mine/file",
      "FROM scratch",
      "COPY --from=made / /",
      "COPY --from=made /opt /copied/",
    ].join("\n"),
  );
  expect(await inside(lab, "cat /srv/dev/sys/file /opt/mine/file /srv/app/first; ls /copied; cat /etc/group")).toBe(
    "kept\nkept\nfrom belowmine\nroot:x:0:\nstaff:x:50:",
  );
  await expect(lab.build("FROM base AS made\nFROM scratch\nCOPY --from=made / /")).rejects.toMatchObject({
    code: "DOCKERFILE_INVALID",
    message: expect.stringContaining("all programs of this machine") as string,
  });
});

it("the folder / of a Dockerfile on the host's own programs is where its sandboxes begin", async () => {
  await using lab = await openBuildLab();
  expect(await lab.build("FROM base\nWORKDIR /")).toMatchObject({ cwd: "/" });
  expect(await inside(lab, "pwd")).toBe("/");
});
