import type { ChangeFacts, DialogFacts, DownloadFacts } from "../../browser/actions/change.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { oneLine } from "./one-line.ts";

/** A change as a model reads it. All that the page decides stands in the marked block, what Belljar says of it after the block. */
export function changeText(change: ChangeFacts & { readonly status?: number | undefined }): string {
  return [markOutside(wordsOf(change)), ...notesOf(change)].join("\n");
}

function wordsOf(change: ChangeFacts & { readonly status?: number | undefined }): string {
  const { url, title, status, dialog, dialogs, downloads, opened, errors, failures, tree } = change;
  const lines = [
    `url: ${url}`,
    ...(title === "" ? [] : [`title: ${title}`]),
    ...(status === undefined ? [] : [`status: ${status}`]),
    ...dialogs.map((one) => `dialog, closed: ${tellDialog(one)}`),
    ...(dialog ? [`dialog, open: ${tellDialog(dialog)}`] : []),
    ...downloads.map(tellDownload),
    ...opened.map((tab) => `opened tab ${tab.index}: ${tab.url}`),
    ...errors.map((error) => `error: ${error}`),
    ...failures.map((failure) => `failed request: ${failure}`),
  ];
  return [...lines.map(oneLine), ...(tree === undefined || tree === "" ? [] : ["changes of the page:", tree])].join("\n");
}

export function tellDialog({ kind, message, proposed }: DialogFacts): string {
  return `${kind} ${JSON.stringify(message)}${proposed === undefined ? "" : `, proposes ${JSON.stringify(proposed)}`}`;
}

function tellDownload({ name, path, url, state, problem }: DownloadFacts): string {
  return `download ${state}: ${path ?? name}, from ${url}${problem === undefined ? "" : ` (${problem})`}`;
}

function notesOf({ navigated, loading, dialog, opened, tree }: ChangeFacts): readonly string[] {
  return [
    ...(dialog ? ["[A dialog holds the page. Answer it with browser_handle_dialog; after 5 s it is dismissed]"] : []),
    ...(opened.length > 0 ? ["[browser_tabs selects a tab that was opened]"] : []),
    ...(navigated ? ["[New document; browser_snapshot reads it]"] : []),
    ...(loading ? ["[The page is still loading: browser_wait_for waits for it]"] : []),
    ...(!navigated && !dialog && tree === "" ? ["[The tree of the page is as before]"] : []),
  ];
}
