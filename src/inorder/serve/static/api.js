// Requests to the JSON API. A request that is superseded is aborted.

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function fetchJson(path, params = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== "" && value !== null && value !== undefined) query.set(name, value);
  let response;
  try {
    response = await fetch(`${path}?${query}`, { signal, headers: { accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is `inorder serve` still running?", 0);
  }
  let body;
  try {
    body = await response.json();
  } catch {
    throw new ApiError(`The server answered ${response.status}.`, response.status);
  }
  if (!response.ok) throw new ApiError(body.error ?? `The server answered ${response.status}.`, response.status);
  return body;
}
