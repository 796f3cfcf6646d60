/** Whether an absolute path is the folder or lies in it. Both are normal: without `..`, and without a slash at the end. */
export function isBelow(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}
