"""Train on bundled data with noise added, and print what was found."""

from flipcost import FlipCostClassifier, UnevenMarginClassifier
from flipcost.datasets import load_pima
from flipcost.metrics import weighted_cost
from flipcost.noise import flip_labels


def main():
    data = load_pima()
    noisy = flip_labels(data.target, 0.25, random_state=0)
    print("Pima Indians diabetes, 768 rows; a quarter of the labels were flipped on purpose.\n")
    model = FlipCostClassifier(cost=data.cost, random_state=0).fit(data.data, noisy)
    print(model.summary())
    ignoring = UnevenMarginClassifier(cost=data.cost).fit(data.data, noisy)
    print("\nTrue cost of a row on the clean labels that the model never saw")
    for name, fitted in (("FlipCostClassifier", model), ("ignoring the noise", ignoring)):
        cost = weighted_cost(data.target, fitted.predict(data.data), data.cost, normalize=True)
        print(f"  {name:<20} {cost:.4f}")


if __name__ == "__main__":
    main()
