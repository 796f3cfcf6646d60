import { expect, it } from "vitest";
import type { Volume } from "./volume.ts";
import { VolumeUsage } from "./volume-usage.ts";

const VOLUME: Volume = {
  version: 1,
  id: "v",
  owner: "token:a",
  name: "data",
  runtime: "fake",
  createdAt: new Date(0),
  quotaBytes: 100,
};

it("gives room to one of those that ask at once", async () => {
  const usage = new VolumeUsage(async () => 0);
  const asked = await Promise.allSettled([60, 60, 60].map((bytes) => usage.take(VOLUME, bytes)));
  expect(asked.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  await usage.take(VOLUME, 40);
  await expect(usage.room(VOLUME)).rejects.toMatchObject({ code: "DISK_FULL" });
});

it("counts a volume once at a time, however often files are removed meanwhile, and then again", async () => {
  const ends: ((bytes: number) => void)[] = [];
  const usage = new VolumeUsage(
    () =>
      new Promise((resolve) => {
        ends.push(resolve);
      }),
  );
  const asked = Array.from({ length: 20 }, () => {
    const room = usage.room(VOLUME);
    usage.forget(VOLUME);
    return room;
  });
  const all = Promise.allSettled(asked);
  expect(ends).toHaveLength(1);
  ends[0]?.(100);
  await expect(asked[0], "what was counted before the removal").rejects.toMatchObject({ code: "DISK_FULL" });
  ends[1]?.(50);
  expect((await all).filter(({ status }) => status === "fulfilled")).toHaveLength(19);
  expect(ends).toHaveLength(2);
});
