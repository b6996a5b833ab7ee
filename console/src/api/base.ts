/** URL of the console, which ends with a slash. The server writes it into the page's `<base>`. */
export const base: URL = new URL(".", document.baseURI);

/** Returns the URL of a part of the console's server. */
export function apiUrl(path: string): string {
  return new URL(`api/${path}`, base).href;
}
