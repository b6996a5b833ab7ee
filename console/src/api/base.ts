/** URL of the console, which ends with a slash. The server writes it into the page's `<base>`. */
export const base: URL = new URL(".", document.baseURI);

/** Returns the URL of a part of the console's server. */
export function apiUrl(path: string): string {
  return new URL(`api/${path}`, base).href;
}

/** Redirect URI of sign-ins at the issuers of agents. Issuers need it registered. */
export const redirectUri: string = new URL("login/callback", base).href;
