// The scene that is embedded in the page: a JSON text, and all numbers over time as one compressed block.

export async function readScene() {
  const head = JSON.parse(document.getElementById("scene").textContent);
  const packed = Uint8Array.from(atob(document.getElementById("numbers").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const arrays = {};
  let at = 0;
  for (const [name, channels, n, step, order] of head.arrays) {
    arrays[name] = { channels, n, values: channelsOf(bytes.subarray(at, at + 4 * channels * n), channels, n, step, order) };
    at += 4 * channels * n;
  }
  return { head, arrays };
}

// Each channel is written as integers, the lowest bytes of all first: differences, or second ones by the order, of
// multiples of a step; without one, of float32 bit patterns.
function channelsOf(planes, channels, n, step, order) {
  const size = channels * n;
  const whole = new Int32Array(size);
  for (let c = 0, k = 0; c < channels; c++) {
    let [slope, sum] = [0, 0];
    for (let i = 0; i < n; i++, k++) {
      slope = (order > 1 ? slope : 0) + (planes[k] | (planes[size + k] << 8) | (planes[2 * size + k] << 16) | (planes[3 * size + k] << 24));
      sum = (sum + slope) | 0;
      whole[k] = sum;
    }
  }
  return step ? Float32Array.from(whole, (x) => step * x) : new Float32Array(whole.buffer);
}

// The instant before a time, and how far it is from there to the next one, as a share.
export function instant(times, time) {
  let low = 0;
  let high = times.length - 1;
  if (!(time > times[0])) return [0, 0];
  if (time >= times[high]) return [high, 0];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle;
  }
  return [low, (time - times[low]) / (times[high] - times[low])];
}
