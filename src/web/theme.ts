// Runs before the first paint, as a plain script, so that a chosen theme never flashes.
{
  const chosen = localStorage.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen;
}
